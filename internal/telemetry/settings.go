package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/proc"
)

// Settings say where a collector of OpenTelemetry is. The zero value is none.
type Settings struct {
	traces, metrics sink
	resource        []attribute
	timeout         time.Duration
}

// sink is where one kind of data goes; "" for nowhere.
type sink struct {
	url     string
	headers [][2]string
}

// On reports whether there is anything to send to.
func (s Settings) On() bool { return s.traces.url != "" || s.metrics.url != "" }

// FromEnv reads the standard variables of an environment, OTEL_EXPORTER_OTLP_ENDPOINT and its
// kin. version is that of this program.
func FromEnv(environ []string, version string) (s Settings, err error) {
	get := func(name string) string { return strings.TrimSpace(proc.Variable(environ, "OTEL_"+name)) }
	if strings.EqualFold(get("SDK_DISABLED"), "true") {
		return s, nil
	}
	for _, signal := range []struct {
		name, path string
		to         *sink
	}{{"TRACES", "/v1/traces", &s.traces}, {"METRICS", "/v1/metrics", &s.metrics}} {
		of := func(name string) (variable, value string) {
			variable = "EXPORTER_OTLP_" + signal.name + "_" + name
			if get(variable) == "" {
				variable = "EXPORTER_OTLP_" + name
			}
			return "OTEL_" + variable, get(variable)
		}
		variable, at := of("ENDPOINT")
		if at != "" && variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			at = strings.TrimSuffix(at, "/") + signal.path
		}
		if at == "" || strings.EqualFold(get(signal.name+"_EXPORTER"), "none") {
			continue
		}
		if u, err := url.Parse(at); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return Settings{}, fmt.Errorf("%s %q is no address: give http://HOST:PORT", variable, at)
		}
		if name, p := of("PROTOCOL"); p == "grpc" {
			return Settings{}, fmt.Errorf("%s is %s, and Piton sends http/json: give the collector's address for HTTP, which often has port 4318", name, p)
		}
		name, text := of("HEADERS")
		headers, err := pairs(text)
		if err != nil {
			return Settings{}, fmt.Errorf("%s: %w", name, err)
		}
		*signal.to = sink{at, headers}
	}
	s.timeout = 10 * time.Second
	if ms := get("EXPORTER_OTLP_TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 {
			return Settings{}, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT %q: give milliseconds", ms)
		}
		s.timeout = time.Duration(n) * time.Millisecond
	}
	named, err := pairs(get("RESOURCE_ATTRIBUTES"))
	if err != nil {
		return Settings{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	service := get("SERVICE_NAME")
	for _, p := range named {
		if p[0] != "service.name" {
			s.resource = append(s.resource, str(p[0], p[1]))
		} else {
			service = cmp.Or(service, p[1])
		}
	}
	s.resource = append(s.resource, str("service.name", cmp.Or(service, "piton")), str("service.version", version))
	return s, nil
}

// pairs reads key=value,key=value, where values are percent-encoded.
func pairs(list string) (all [][2]string, err error) {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(text, "\r\n") {
			return nil, fmt.Errorf("%q is not NAME=VALUE", name)
		}
		all = append(all, [2]string{name, text})
	}
	return all, nil
}
