/**
 * The search of VitePress says of itself that it is a button, and its results are links within options. Here it becomes a dialog, with a
 * box that controls a list of options, as screen readers know them: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/.
 */

/** Attributes of results that VitePress sets for the element around each link. */
const OF_RESULTS = ['role', 'id', 'aria-selected'];

export function mendSearchDialogs() {
  const body = new MutationObserver(() => {
    const dialog = document.querySelector('body > .VPLocalSearchBox:not([role="dialog"])');
    if (dialog === null) return;
    mend(dialog);
    // It sets them again when results come, and when another is selected.
    const options = { subtree: true, childList: true, attributeFilter: [...OF_RESULTS, 'aria-owns'] };
    new MutationObserver(() => mend(dialog)).observe(dialog, options);
  });
  body.observe(document.body, { childList: true });
}

function mend(dialog) {
  set(dialog, {
    role: 'dialog',
    'aria-modal': 'true',
    'aria-expanded': null,
    'aria-haspopup': null,
    'aria-owns': null,
  });
  for (const key of dialog.querySelectorAll('kbd[aria-label]')) set(key, { role: 'img' });
  const items = [...dialog.querySelectorAll('.results > li:has(> a)')];
  set(dialog.querySelector('input'), {
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-expanded': String(items.length > 0),
  });
  for (const item of items) {
    const moved = OF_RESULTS.filter((name) => item.hasAttribute(name) && item.getAttribute(name) !== 'none');
    // What is seen is the name, without the sign in front.
    const link = item.querySelector('a');
    set(link, { ...Object.fromEntries(moved.map((name) => [name, item.getAttribute(name)])), 'aria-label': null });
    set(link.querySelector('.title-icon'), { 'aria-hidden': 'true' });
    set(item, { ...Object.fromEntries(moved.map((name) => [name, null])), role: 'none' });
  }
}

/** Without a change, nothing is set: that would be reported as one. An element that another version of VitePress does not have is left out. */
function set(element, attributes) {
  if (element === null) return;
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) === value) continue;
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
  }
}
