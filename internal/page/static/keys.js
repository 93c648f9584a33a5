// Everything works without this file. It gives the buttons of a page their keys, as data-hotkey
// says, finds over the page, moves steps by dragging, and puts the focus back where it was after
// a change.
"use strict";
(() => {
  const typing = (e) => e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  const keyOf = (e) => (e.metaKey || e.ctrlKey ? "mod+" : "") + (e.altKey ? "alt+" : "") + e.key.toLowerCase().replace("arrow", "");
  const singles = () => localStorage.getItem("piton-keys") !== "off";
  const here = () => document.activeElement && document.activeElement.closest("[data-rows] > li");
  const rows = () => [...document.querySelectorAll("[data-rows] > li")];
  const title = (row) => row.querySelector("a");

  // A key is that of the row with the focus, or else that of the page.
  const button = (key) => {
    const of = (root) => [...root.querySelectorAll("[data-hotkey]")].find((b) => b.dataset.hotkey.split(",").includes(key) && b.getAttribute("aria-disabled") !== "true" && !b.closest("[data-rows] > li") === (root === document));
    const row = here();
    return row && of(row) || of(document);
  };
  const step = (by) => {
    const all = rows(), at = all.indexOf(here());
    const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
    if (next) title(next).focus();
  };
  let before = "";
  document.addEventListener("keydown", (e) => {
    const key = keyOf(e), single = !/^(mod|alt)\+|escape/.test(key);
    if (e.isComposing || single && (typing(e) || !singles()) || document.querySelector("dialog[open]")) return;
    if (key === "?") {
      e.preventDefault();
      keys.showModal();
      return;
    }
    const both = before + " " + key;
    before = single ? key : "";
    const hit = button(both) || button(key);
    if (hit) {
      e.preventDefault();
      before = "";
      hit.click();
    } else if (key === "j" || key === "k") {
      step(key === "j" ? 1 : -1);
    }
  });

  // All keys are listed, and single keys can be turned off.
  const keys = document.getElementById("keys"), on = document.getElementById("keys-on");
  on.checked = singles();
  on.addEventListener("change", () => localStorage.setItem("piton-keys", on.checked ? "on" : "off"));

  // Find opens over the page. The arrows walk through what was found.
  const palette = document.getElementById("palette");
  document.addEventListener("click", (e) => {
    const a = e.target.closest(".find");
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    const input = document.querySelector("#main #q");
    if (input) {
      input.focus();
      return;
    }
    htmx.ajax("GET", a.href, {target: "#palette", select: "#find", swap: "innerHTML"}).then(() => {
      if (!palette.open) palette.showModal();
      palette.querySelector("input").select();
    });
  });
  document.addEventListener("keydown", (e) => {
    const box = e.target.closest("#find");
    if (!box || !/^Arrow(Up|Down)$/.test(e.key)) return;
    const links = [...box.querySelectorAll(".hits a")], at = links.indexOf(document.activeElement);
    e.preventDefault();
    const next = at + (e.key === "ArrowDown" ? 1 : -1);
    (links[next] || (next < 0 ? box.querySelector("input") : links[at])).focus();
  });

  document.addEventListener("submit", (e) => {
    const first = e.target.matches(".finder") && e.target.closest("#find").querySelector(".hits a");
    if (!first) return;
    e.preventDefault();
    first.click();
  });

  // The sign of the page says whether something waits.
  document.addEventListener("htmx:sse:after:message", () => {
    const icon = document.getElementById("icon"), waits = document.getElementById("waiting").textContent !== "";
    icon.href = icon.href.replace(/icon(-waiting)?\.svg$/, waits ? "icon-waiting.svg" : "icon.svg");
  });

  // What was open or had the focus is so again after a part of the page was replaced.
  let focused = "";
  const remember = () => { const row = here(); focused = row ? row.id : ""; };
  document.addEventListener("click", (e) => { if (e.target.closest("[data-step]")) focused = e.target.closest("[data-step]").id; });
  document.addEventListener("focusin", remember);
  document.addEventListener("htmx:after:swap", () => {
    if (document.querySelector("dialog[open]")) return;
    const open = document.querySelector("#main [autofocus]"), row = focused && document.getElementById(focused);
    if (open) open.focus();
    else if (row && !row.contains(document.activeElement)) title(row).focus({preventScroll: true});
    sortable();
  });
  document.addEventListener("click", (e) => {
    const to = e.target.closest("[data-focus]");
    if (to) document.getElementById(to.dataset.focus).focus();
    document.querySelectorAll(".menu[open]").forEach((m) => { if (!m.contains(e.target)) m.open = false; });
  });

  // Steps are dragged by their handles. The server moves them, or says why they stay.
  const sortable = () => {
    const list = document.querySelector("[data-sort]");
    if (!list || typeof Sortable === "undefined" || Sortable.get(list)) return;
    Sortable.create(list, {
      forceFallback: true, handle: ".grip", draggable: "[data-step]", ghostClass: "held", animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 120,
      onEnd: (e) => {
        if (e.oldIndex === e.newIndex) return;
        const form = document.getElementById("move");
        form.elements.step.value = e.item.dataset.step;
        form.elements.place.value = e.newIndex;
        focused = e.item.id;
        form.requestSubmit();
      },
    });
  };
  sortable();
  const open = document.querySelector("#main [autofocus]");
  if (open) open.focus();
})();
