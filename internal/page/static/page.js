// Everything works without this file. It counts the time of what is at work, keeps the log at
// its end while the reader is there, and says when the page is not up to date.
"use strict";
(() => {
  const span = (s) => s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m" + String(s % 60).padStart(2, "0") + "s"
    : Math.floor(s / 3600) + "h" + String(Math.floor(s / 60) % 60).padStart(2, "0") + "m";
  const count = () => document.querySelectorAll("[data-since]").forEach((e) => {
    e.textContent = span(Math.max(0, Math.floor((Date.now() - e.dataset.since) / 1000)));
  });
  count();
  setInterval(count, 1000);

  const live = document.getElementById("live");
  let last = new Date(), lost = 0;
  const say = (text, tone) => { live.hidden = false; live.textContent = text; live.dataset.tone = tone; };
  document.addEventListener("htmx:sse:after:connection", () => { clearTimeout(lost); lost = 0; say("Live", "ok"); });
  const title = document.title.replace(/^\(\d+\) /, "");
  document.addEventListener("htmx:sse:after:message", () => {
    last = new Date();
    count();
    const n = document.getElementById("waiting").textContent;
    document.title = n ? "(" + n + ") " + title : title;
  });
  const gone = () => { lost = lost || setTimeout(() => say("Reconnecting, last update " + last.toLocaleTimeString(), "warn"), 3000); };
  for (const event of ["htmx:sse:error", "htmx:sse:close", "htmx:sse:before:connection"]) document.addEventListener(event, gone);

  const log = document.getElementById("log");
  if (!log) return;
  let follows = true;
  const end = () => { if (follows) log.scrollTop = log.scrollHeight; };
  log.addEventListener("scroll", () => { follows = log.scrollHeight - log.scrollTop - log.clientHeight < 24; });
  new MutationObserver(end).observe(log, {childList: true, subtree: true});
  end();
})();
