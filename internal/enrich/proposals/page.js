"use strict";
(() => {
  const main = document.querySelector("main");
  const all = [...main.querySelectorAll(".proposal[data-id]")];
  const edits = new Map(); // by proposal: the edited text
  let unsaved = false;

  const proposed = card => ({ description: card.dataset.description, tags: JSON.parse(card.dataset.tags) });
  const isSame = (a, b) => a.description === b.description && JSON.stringify(a.tags) === JSON.stringify(b.tags);
  const isDecided = card => card.dataset.choice !== card.dataset.was || edits.has(card);

  function count() {
    const of = choice => all.filter(card => card.dataset.choice === choice).length;
    const decorative = of("decorative");
    document.getElementById("sum").textContent = `${of("accept")} accepted, ${of("reject")} rejected, `
      + (decorative ? `${decorative} decorative, ` : "") + `${of("")} undecided` + (unsaved ? " (not saved)" : "");
  }

  function choose(card, choice) {
    const is = card.dataset.choice === choice ? card.dataset.was : choice;
    card.dataset.choice = is;
    card.querySelectorAll("[data-choose]").forEach(b => b.setAttribute("aria-pressed", String(b.dataset.choose === is)));
    unsaved = true;
    count();
  }

  // show replaces the proposed text by an edited one. Equal texts restore the original markup.
  const originals = new Map();
  function show(card, text) {
    const place = card.querySelector("dl");
    if (!originals.has(card)) originals.set(card, [...place.cloneNode(true).childNodes]);
    place.replaceChildren(...originals.get(card).map(node => node.cloneNode(true)));
    if (isSame(text, proposed(card))) return;
    const edited = document.createElement("span");
    edited.className = "tag calm";
    edited.textContent = "edited";
    place.querySelector(".new .text").replaceChildren(text.description, " ", edited);
    const row = place.querySelector(".tags"), list = row.querySelector("ul");
    list.querySelectorAll("li:has(ins)").forEach(item => item.remove());
    const there = [...list.children].map(item => item.textContent);
    text.tags.filter(tag => !there.includes(tag)).forEach(tag => {
      list.appendChild(document.createElement("li")).appendChild(document.createElement("ins")).textContent = tag;
    });
    row.hidden = list.children.length === 0;
  }

  function keep(card, text) {
    if (isSame(text, proposed(card))) edits.delete(card);
    else edits.set(card, text);
    show(card, text);
    if (card.dataset.choice !== "accept") choose(card, "accept");
    unsaved = true;
    count();
  }

  const tagsOf = text => [...new Set(text.split("\n").map(tag => tag.trim()).filter(tag => tag !== ""))];

  function edit(card) {
    const open = card.querySelector(".edit");
    if (open) return open.elements.description.focus();
    const form = document.getElementById("form").content.firstElementChild.cloneNode(true);
    const text = edits.get(card) ?? proposed(card);
    const { description, tags } = form.elements;
    description.value = text.description;
    tags.value = text.tags.join("\n");
    const longest = Number(main.dataset.longest);
    const measure = () => {
      const length = form.querySelector(".length"), n = [...description.value.trim()].length;
      length.textContent = `${n} ${n === 1 ? "character" : "characters"}; recommended: up to ${longest}`;
      length.classList.toggle("long", n > longest);
      description.setCustomValidity("");
    };
    const close = () => { form.remove(); card.focus(); };
    description.addEventListener("input", measure);
    form.addEventListener("submit", event => {
      event.preventDefault();
      const written = { description: description.value.trim(), tags: tagsOf(tags.value) };
      if (written.description === "" && proposed(card).description !== "") {
        description.setCustomValidity("Write a description, or reject the proposal.");
        return description.reportValidity();
      }
      close();
      keep(card, written);
    });
    form.querySelector("[data-cancel]").addEventListener("click", close);
    form.addEventListener("keydown", event => {
      if (event.key === "Escape") close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    card.querySelector(".choices").before(form);
    measure();
    description.focus();
  }

  function next(card, step) {
    const shown = all.filter(other => !other.hidden);
    shown[shown.indexOf(card) + step]?.focus();
  }

  main.addEventListener("click", event => {
    const button = event.target.closest("button"), card = button?.closest(".proposal");
    if (button?.dataset.choose) choose(card, button.dataset.choose);
    else if (button && "edit" in button.dataset) edit(card);
  });

  const keys = { a: "accept", r: "reject", d: "decorative" };
  main.addEventListener("keydown", event => {
    const card = event.target.closest(".proposal[data-id]");
    if (!card || event.target.closest(".edit, a") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (card.querySelector(`[data-choose="${keys[key]}"]`)) {
      choose(card, keys[key]);
      next(card, 1);
    } else if (key === "j") next(card, 1);
    else if (key === "k") next(card, -1);
    else if (key === "e") edit(card);
    else return;
    event.preventDefault();
  });

  document.getElementById("show").addEventListener("change", event => {
    const wanted = event.target.value;
    const cards = [...main.querySelectorAll(".proposal")];
    cards.forEach(card => {
      const is = { "": true, open: card.dataset.choice === "", warned: "warned" in card.dataset };
      card.hidden = !(is[wanted] ?? card.dataset.choice === wanted);
    });
    document.getElementById("none-shown").hidden = cards.length === 0 || cards.some(card => !card.hidden);
  });

  document.getElementById("save").addEventListener("click", () => {
    const lines = all.filter(card => card.dataset.choice !== "" && isDecided(card)).map(card => {
      const edited = card.dataset.choice === "accept" ? edits.get(card) : undefined;
      return JSON.stringify({ id: card.dataset.id, decision: card.dataset.choice, new_description: edited?.description, new_tags: edited?.tags }) + "\n";
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.download = main.dataset.file;
    link.click();
    unsaved = false;
    count();
  });

  addEventListener("beforeunload", event => {
    if (unsaved) event.preventDefault();
  });
  count();
})();
