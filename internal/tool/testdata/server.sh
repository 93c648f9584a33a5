# A small MCP server over standard input and output, in bash alone. Some of its
# tools behave, and some do not. $1 is what it does before it serves.
case $1 in
dead) echo 'cannot start: no licence' >&2; exit 3 ;;
mute) while read -r _; do :; done; exit ;;
garbage) echo 'this is no JSON'; while read -r _; do :; done; exit ;;
esac

object='{"type":"object"}'
tools='[
{"name":"echo","description":"Says\u001b[31m it\nagain","inputSchema":{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}},"outputSchema":{"type":"object","required":["said"],"properties":{"said":{"type":"string"}}}},
{"name":"plain","inputSchema":'$object'},
{"name":"image","inputSchema":'$object'},
{"name":"liar","inputSchema":'$object',"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}},
{"name":"fails","inputSchema":'$object'},
{"name":"refuses","inputSchema":'$object'},
{"name":"dies","inputSchema":'$object'},
{"name":"hangs","inputSchema":'$object'},
{"name":"floods","inputSchema":'$object'},
{"name":"large","inputSchema":'$object'},
{"name":"orphan","inputSchema":'$object'},
{"name":"secret","inputSchema":'$object'},
{"name":"loops","inputSchema":{"type":"object","allOf":[{"$ref":"#"}]}},
{"name":"remote","inputSchema":{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}},
{"name":"pattern","inputSchema":{"type":"object","properties":{"a":{"pattern":"("}}}},
{"name":"bad name","inputSchema":'$object'}
]'
tools=${tools//$'\n'/}

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }

use() {
  case $1 in
  echo)
    [[ $line =~ \"text\":\"([^\"]*)\" ]]
    answer '{"content":[],"structuredContent":{"said":"'"${BASH_REMATCH[1]}"'"}}' ;;
  plain) answer '{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}' ;;
  image) answer '{"content":[{"type":"image","mimeType":"image/png","data":"AAH/"}]}' ;;
  liar) answer '{"content":[],"structuredContent":{"n":"many"}}' ;;
  fails) answer '{"isError":true,"content":[{"type":"text","text":"it went\u001b[2J wrong"}]}' ;;
  refuses) refuse -32000 'not today' ;;
  dies) echo 'I am ill' >&2; exit 7 ;;
  hangs) ;;
  floods) head -c 9000000 /dev/zero | tr '\0' ' ' ;;
  large) text "$(head -c 1100000 /dev/zero | tr '\0' x)" ;;
  orphan) sleep 1000 </dev/null >/dev/null 2>&1 & text "$!" ;;
  secret) text "${SECRET-none} ${PASSED-none} ${HIDDEN-none}" ;;
  *) refuse -32602 'no such tool' ;;
  esac
}

while read -r line; do
  [[ $line =~ \"id\":([0-9]+|\"[^\"]*\") ]] || continue
  id=${BASH_REMATCH[1]}
  [[ $line =~ \"method\":\"([^\"]*)\" ]] || continue
  case ${BASH_REMATCH[1]} in
  initialize) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}' ;;
  tools/list) answer '{"tools":'"$tools"'}' ;;
  tools/call) [[ $line =~ \"name\":\"([^\"]*)\" ]] && use "${BASH_REMATCH[1]}" ;;
  ping) answer '{}' ;;
  *) refuse -32601 'no such method' ;;
  esac
done
