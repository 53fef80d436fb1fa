/** The beginning of the names of the caches that hold the administration page of a base, one for each version of the page. */
export function pageCaches(base: string): string {
  return `settee-utils ${base} `;
}
