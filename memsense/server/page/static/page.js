// Shows each slider's value next to it; sets it back with the form.
function show(slider) {
  const output = slider.form && slider.form.querySelector(`output[for="${slider.id}"]`);
  if (output) output.textContent = Number(slider.value).toFixed(2);
}
document.addEventListener("input", (event) => {
  if (event.target.type === "range") show(event.target);
});
document.addEventListener("reset", (event) => {
  // The values are set back after this event.
  setTimeout(() => {
    const sliders = event.target.querySelectorAll("input[type=range]");
    sliders.forEach(show);
    if (sliders.length) sliders[0].dispatchEvent(new Event("input", { bubbles: true }));
  });
});
// Checks or clears all boxes of a list.
document.addEventListener("change", (event) => {
  if (event.target.name === "ns") event.target.form.submit();
  const name = event.target.dataset.checks;
  if (!name) return;
  for (const box of event.target.form.elements) if (box.name === name) box.checked = event.target.checked;
});
// Says that a picture waits, and that the server is gone: what it drew before is greyed then.
const SLOW = 400;
document.addEventListener("htmx:before:request", (event) => {
  const { target } = event.detail.ctx;
  target.ariaBusy = "true";
  event.detail.ctx.slow = setTimeout(() => target.classList.add("waiting"), SLOW);
});
document.addEventListener("htmx:finally:request", (event) => {
  const { target, slow } = event.detail.ctx;
  clearTimeout(slow);
  target.ariaBusy = "false";
  target.classList.remove("waiting");
});
function lose(event) {
  const { target, sourceElement, sourceEvent } = event.detail.ctx ?? {};
  if (!target) return;
  find(target);
  const band = document.createElement("p");
  band.className = "problem lost-band";
  band.setAttribute("role", "alert");
  const drawn = target.dataset.drawn ? ` This is the picture of ${target.dataset.drawn}.` : "";
  band.textContent = `The server does not answer.${drawn} `;
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Try again";
  again.onclick = () => sourceElement.dispatchEvent(new Event(sourceEvent.type, { bubbles: true, cancelable: true }));
  band.append(again);
  target.before(band);
  target.classList.add("lost");
}
function find(target) {
  target.classList.remove("lost");
  if (target.previousElementSibling?.matches(".lost-band")) target.previousElementSibling.remove();
}
document.addEventListener("htmx:error", lose);
document.addEventListener("htmx:response:error", lose);
document.addEventListener("htmx:before:swap", (event) => {
  const { target, response } = event.detail.ctx ?? {};
  if (!response) return;
  // The page of an error must not replace the picture.
  if (response.status >= 400) return event.preventDefault();
  find(target);
  target.dataset.drawn = new Date().toTimeString().slice(0, 8);
});
// Keeps the fields of a form that is sent, in this tab: if the session has ended, the sign-in leads
// back to the form, which is filled again. Never kept: the key, and the token of the old session.
const KEPT = "memsense-form";
const formsOf = (action) => [...document.forms].filter((it) => it.getAttribute("action") === action);
const typed = (field) => field.name && !field.disabled && (field.name === "key" || !["hidden", "password", "submit"].includes(field.type));
document.addEventListener("submit", ({ target: form }) => {
  if (form.method !== "post" || form.querySelector("[type=password]")) return;
  const fields = [...form.elements].map((it) => (typed(it) ? { value: it.value, checked: it.checked } : null));
  const action = form.getAttribute("action");
  const place = { page: location.pathname + location.search, action, number: formsOf(action).indexOf(form) };
  sessionStorage.setItem(KEPT, JSON.stringify({ ...place, fields }));
});
const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
if (kept && location.pathname === "/ui/sign-in") {
  sessionStorage.setItem(KEPT, JSON.stringify({ ...kept, ended: true }));
} else if (kept) {
  sessionStorage.removeItem(KEPT);
  const form = kept.ended && kept.page === location.pathname + location.search && formsOf(kept.action)[kept.number];
  if (form) {
    kept.fields.forEach((it, place) => it && form.elements[place] && Object.assign(form.elements[place], it));
    for (let part = form.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    const note = document.createElement("p");
    note.className = "note";
    note.setAttribute("role", "status");
    note.textContent = "You had been signed out. Nothing was sent: the form holds what you had typed.";
    form.before(note);
  }
}
// Arrow keys go from one bar of a lane to the next.
document.addEventListener("keydown", (event) => {
  const lane = event.target.closest("[data-lane]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!lane || !step) return;
  const bars = [...lane.querySelectorAll("a")];
  bars[bars.indexOf(event.target) + step]?.focus();
  event.preventDefault();
});
