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
  document.addEventListener("htmx:sse:after:connection", () => { clearTimeout(lost); lost = 0; last = new Date(); say("Live", "ok"); });
  const title = document.title.replace(/^\(\d+\) /, "");
  document.addEventListener("htmx:sse:after:message", () => {
    last = new Date();
    if (document.querySelector("#trouble > *")) say("Not up to date", "warn");
    else say("Live", "ok");
    count();
    const n = document.getElementById("waiting").textContent;
    document.title = n ? "(" + n + ") " + title : title;
  });
  const gone = () => { lost = lost || setTimeout(() => say("Reconnecting, last update " + last.toLocaleTimeString(), "warn"), 3000); };
  for (const event of ["htmx:sse:error", "htmx:sse:close", "htmx:sse:before:connection"]) document.addEventListener(event, gone);
  // A stream that was cut may stay silent, and nobody says so: then it is begun anew.
  const silence = 15000;
  const anew = () => {
    const s = document.querySelector("[hx-sse\\:connect]")?._htmx?.sse;
    if (s?.reader) s.reader.cancel();
    else s?.delayCanceller?.();
  };
  for (const event of ["offline", "online"]) addEventListener(event, anew);
  setInterval(() => { if (!lost && Date.now() - last > silence) anew(); }, 1000);
  // A stream that was cut comes back by itself. One that did not begin is tried again here.
  document.addEventListener("htmx:finally:request", (e) => {
    const from = e.detail.ctx.sourceElement, url = from.getAttribute("hx-sse:connect");
    if (!url || from._htmx.sse) return;
    gone();
    setTimeout(() => { if (from.isConnected) htmx.ajax("GET", url, {source: from}); }, 2000);
  });

  // Where the graph is wider than the screen, what matters of it is in sight.
  const sight = () => {
    const dag = document.querySelector(".dag"), n = dag && (dag.querySelector(".n[aria-current]") || dag.querySelector('.n[data-st="you"], .n[data-st="bad"], .n[data-st="run"]'));
    if (n) dag.scrollLeft += n.getBoundingClientRect().left - dag.getBoundingClientRect().left - (dag.clientWidth - n.getBoundingClientRect().width) / 2;
  };
  sight();
  let wide = innerWidth;
  addEventListener("resize", () => { if (wide !== innerWidth) { wide = innerWidth; sight(); } });

  // A link to another step, or order, of the same page brings only what is in it. A newer one
  // takes the place of one under way. The history is kept here alone, not by htmx as well.
  const go = (url, to, list) => htmx.ajax("GET", url, {target: "#main", select: "#main", swap: "outerHTML"}).then(() => {
    count();
    sight();
    const again = to && !document.querySelector("#main [autofocus]") && document.querySelector("#" + list + " a[href=" + CSS.escape(to) + "]");
    if (again) again.focus({preventScroll: true});
  });
  document.addEventListener("click", (e) => {
    const a = e.target.closest('a[href^="?"]');
    if (!a || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    const to = a.getAttribute("href"), url = new URL(to, location.href).href;
    history.pushState(null, "", url);
    const list = a.closest("#steps, #graph");
    go(url, list && to, list && list.id);
  });
  addEventListener("popstate", () => go(location.href));

  // Steps of the graph that stand otherwise: key, tone, glyph, word.
  document.addEventListener("state", (e) => {
    for (const [key, tone, glyph, word] of JSON.parse(e.detail.data)) {
      const n = document.querySelector('.n[data-key="' + CSS.escape(key) + '"]');
      if (!n) continue;
      n.dataset.st = tone;
      n.querySelector("use").setAttribute("href", "#i-" + glyph);
      const a = n.querySelector("a");
      if (a) a.setAttribute("aria-label", a.getAttribute("aria-label").replace(/[^:]*$/, " " + word));
      document.querySelectorAll('.e[data-to="' + CSS.escape(key) + '"]').forEach((p) => p.classList.toggle("on", tone === "run"));
    }
  });

  // What goes on grows to where now is.
  setInterval(() => {
    const axis = document.getElementById("axis"), line = axis && axis.querySelector(".now");
    if (!line) return;
    const d = axis.dataset, x = Math.min(100, +d.now + (Date.now() - d.at) * d.rate);
    line.setAttribute("x1", x + "%");
    line.setAttribute("x2", x + "%");
    document.querySelectorAll("[data-grows]").forEach((b) => b.setAttribute("width", Math.max(1, x - b.dataset.grows) + "%"));
  }, 1000);

  // Why a step was not moved, or changed, is in sight.
  document.addEventListener("htmx:finally:request", () => document.querySelector('.step .note[role="alert"]')?.scrollIntoView({block: "nearest"}));

  // A menu closes once something in it was chosen, by a click elsewhere, and with Escape.
  document.addEventListener("click", (e) => document.querySelectorAll("details.menu[open]").forEach((d) => {
    if (!d.contains(e.target) || e.target.closest(".pop")) d.open = false;
  }));
  document.addEventListener("keydown", (e) => {
    const menu = e.key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    e.stopImmediatePropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  }, true);

  let follows = true; // the log is at its end
  let seen = null, top = 0; // the log that was last looked at, and how far down it was
  const most = 2000; // lines in the page
  const told = () => {
    document.getElementById("newest").hidden = follows;
    const says = document.getElementById("following"), text = follows ? "Following" : "Not following";
    if (says.textContent !== text) says.textContent = text;
  };
  const earlier = (log, more) => {
    let a = log.querySelector(".older");
    if (!a) {
      a = document.createElement("a");
      a.className = "older";
      a.textContent = "Earlier lines";
      a.setAttribute("hx-swap", "outerHTML");
      log.prepend(a);
    }
    log.dataset.first = +log.dataset.first + more;
    for (const [name, to] of [["href", "?"], ["hx-get", log.dataset.part]]) a.setAttribute(name, to + "&before=" + log.dataset.first);
    htmx.process(a);
  };
  const end = () => {
    const log = document.getElementById("log"), newest = document.getElementById("newest");
    if (!log || !newest) return;
    // A reader may have scrolled up before the event of it came.
    if (log === seen && log.scrollTop < Math.min(top, log.scrollHeight - log.clientHeight) - 1) follows = false;
    const over = log.children.length - most;
    for (let n = 0; n < over; n++) (follows ? log.querySelector(":scope > div") : log.lastElementChild).remove();
    if (over > 0 && follows) earlier(log, over);
    told();
    if (follows) log.scrollTop = log.scrollHeight;
    seen = log;
    top = log.scrollTop;
  };
  document.addEventListener("scroll", (e) => {
    const log = e.target;
    if (log.id !== "log") return;
    follows = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
    told();
  }, true);
  new MutationObserver(end).observe(document.body, {childList: true, subtree: true});
  end();
})();
