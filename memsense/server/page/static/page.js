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
  const name = event.target.dataset.checks;
  if (!name) return;
  for (const box of event.target.form.elements) if (box.name === name) box.checked = event.target.checked;
});
