/** The anchor of a heading as GitHub names it: letters, digits, hyphens and underscores, in lower case, with hyphens for spaces. */
export function slugOf(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}
