"use strict";
(() => {
  const meta = JSON.parse(document.getElementById("meta").textContent);
  const sections = meta.sections.map(([verdict, start, listed, total]) => ({ verdict, start, listed, total }));
  const list = document.getElementById("list");
  const status = document.getElementById("status");
  const pagers = [...document.querySelectorAll(".pager")];
  const tabs = [...document.querySelectorAll(".tab")];
  const search = document.getElementById("find");
  const byPredicate = document.getElementById("by-predicate");
  const bySource = document.getElementById("by-source");
  const order = document.getElementById("order");

  // Blocks lie in the page as base64 of gzip; each is unpacked when it is first needed.
  const unpack = (name) => {
    const packed = atob(document.getElementById(name).textContent);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  };
  const once = (make) => {
    let made;
    return () => (made ??= make());
  };
  const predicateOf = once(async () => new Uint32Array(await unpack("predicate-of").arrayBuffer()));
  const sourceSetOf = once(async () => new Uint32Array(await unpack("source-set-of").arrayBuffer()));
  const sourceSets = once(() => unpack("source-sets").json());
  const texts = once(async () => (await unpack("search").text()).split("\n"));

  const kept = new Map();
  const chunk = (number) => {
    const found = kept.get(number) ?? unpack(`chunk-${number}`).json();
    kept.delete(number);
    kept.set(number, found);
    if (kept.size > 60) kept.delete(kept.keys().next().value);
    return found;
  };

  // Only texts and our own elements: nothing that a graph or a document holds is read as markup.

  const build = (node) => {
    if (typeof node === "string") return document.createTextNode(node);
    const [tag, attributes, ...children] = node;
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.map(build));
    return element;
  };
  const card = (node) => {
    const item = build(node);
    const key = item.querySelector("code.key");
    const button = build(["button", { type: "button", class: "key", title: `Copy the whole key: ${key.dataset.key}` }, key.textContent]);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(key.dataset.key);
        button.textContent = "copied";
      } catch {
        button.textContent = key.dataset.key;
      }
    });
    key.replaceWith(button);
    return item;
  };

  let section = Math.max(0, sections.findIndex((each) => each.total > 0));
  let page = 0;
  let matches = [];
  let turn = 0;

  const words = () => {
    const folded = search.value.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean);
    return folded.map((word) => (/^[0-9a-f]{13,64}$/.test(word) ? word.slice(0, 12) : word));
  };

  // A line begins with the first 12 digits of the key, which only their beginning finds.
  const holds = (line, word) => line.indexOf(word, 12) > 0 || (word.length >= 6 && line.startsWith(word));

  const select = async () => {
    const wanted = words();
    const lines = wanted.length ? await texts() : null;
    const predicate = byPredicate.value === "" ? null : Number(byPredicate.value);
    const predicates = predicate !== null || order.value === "predicate" ? await predicateOf() : null;
    let sources = null;
    if (bySource.value !== "") {
      const source = Number(bySource.value);
      const inSet = (await sourceSets()).map((members) => members.includes(source));
      const setOf = await sourceSetOf();
      sources = (rank) => inSet[setOf[rank]];
    }
    const fits = (rank) =>
      (predicate === null || predicates[rank] === predicate) &&
      (sources === null || sources(rank)) &&
      (lines === null || wanted.every((word) => holds(lines[rank], word)));
    const filtered = lines !== null || predicate !== null || sources !== null;
    const found = sections.map(({ start, listed }) => {
      const ranks = [];
      for (let rank = start; rank < start + listed; rank++) if (!filtered || fits(rank)) ranks.push(rank);
      return ranks;
    });
    for (const ranks of found) {
      if (order.value === "last") ranks.reverse();
      if (order.value === "predicate") ranks.sort((a, b) => predicates[a] - predicates[b] || a - b);
    }
    return { found, filtered };
  };

  const pages = () => Math.max(1, Math.ceil(matches.length / meta.page));
  const number = (value) => value.toLocaleString("en");

  const showPage = async (focus) => {
    const mine = ++turn;
    page = Math.min(Math.max(0, page), pages() - 1);
    const ranks = matches.slice(page * meta.page, (page + 1) * meta.page);
    const nodes = await Promise.all(ranks.map(async (rank) => (await chunk(Math.floor(rank / meta.chunk)))[rank % meta.chunk]));
    if (mine !== turn) return;
    list.replaceChildren(...nodes.map(card));
    for (const pager of pagers) {
      pager.hidden = pages() === 1;
      const [previous, next] = pager.querySelectorAll("button");
      previous.disabled = page === 0;
      next.disabled = page === pages() - 1;
      pager.querySelector("input").value = page + 1;
      pager.querySelector("input").max = pages();
      pager.querySelector("span").textContent = `of ${number(pages())}`;
    }
    if (focus) document.getElementById("triples").scrollIntoView();
  };

  const showList = async () => {
    const mine = ++turn;
    const { found, filtered } = await select();
    if (mine !== turn) return;
    matches = found[section];
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-pressed", String(i === section));
      tab.querySelector(".count").textContent = number(filtered ? found[i].length : sections[i].total);
    });
    const { verdict, listed, total } = sections[section];
    const name = verdict.replaceAll("_", " ");
    const cut = listed < total ? ` Of ${number(total)} only the ${number(listed)} most suspicious are in this page; kgaudit export has them all.` : "";
    const count = matches.length === 1 ? "1 triple" : `${number(matches.length)} triples`;
    status.textContent = `${name[0].toUpperCase()}${name.slice(1)}: ${count}.${cut}`;
    page = 0;
    await showPage(false);
  };

  const guarded = (action) => (...rest) =>
    action(...rest).catch((error) => {
      status.textContent = `This page could not be unpacked (${error.message}). Write it again with kgaudit report.`;
    });
  const refresh = guarded(showList);
  const turnTo = guarded(async (to) => {
    page = to;
    await showPage(true);
  });

  for (const pager of pagers) {
    const previous = build(["button", { type: "button" }, "Previous"]);
    const next = build(["button", { type: "button" }, "Next"]);
    const at = build(["input", { type: "number", min: "1", "aria-label": "Page" }]);
    previous.addEventListener("click", () => turnTo(page - 1));
    next.addEventListener("click", () => turnTo(page + 1));
    at.addEventListener("change", () => turnTo(Math.trunc(Number(at.value) || 1) - 1));
    pager.append(previous, build(["label", {}, "Page "]), build(["span", {}]), next);
    pager.querySelector("label").append(at);
  }
  tabs.forEach((tab, i) =>
    tab.addEventListener("click", () => {
      section = i;
      refresh();
    }),
  );
  let typing;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(refresh, 150);
  });
  for (const control of [byPredicate, bySource, order]) control.addEventListener("change", refresh);

  for (const filter of document.querySelectorAll(".filter-rows")) {
    filter.parentElement.hidden = false;
    const rows = [...filter.closest("details").querySelectorAll("tbody tr")];
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    });
  }

  if (typeof DecompressionStream === "undefined") {
    status.textContent = "This browser is too old to unpack the other triples (it lacks DecompressionStream): only the first ones are shown.";
    return;
  }
  for (const hidden of document.querySelectorAll(".tabs, .controls")) hidden.hidden = false;

  // report.html#<key> opens the triple of that key, wherever it stands.
  const openKey = async () => {
    const key = location.hash.slice(1);
    if (!/^[0-9a-f]{6,64}$/.test(key)) return refresh();
    search.value = key;
    const { found } = await select();
    section = Math.max(0, found.findIndex((ranks) => ranks.length > 0));
    await refresh();
    document.getElementById("triples").scrollIntoView();
  };
  addEventListener("hashchange", guarded(openKey));
  guarded(openKey)();
})();
