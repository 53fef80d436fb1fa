/** Names the JavaScript engine of the browser. What depends on its version, such as string order, is checked when the name changes. */

/** Where `navigator.userAgent` names each engine and its version. On iOS every browser is WebKit. */
const ENGINES: readonly (readonly [name: string, version: RegExp])[] = [
  ['WebKit iOS', /\b(?:iPhone )?OS (\d+_\d+)\b/],
  ['Gecko', /\bFirefox\/(\d+)/],
  ['Blink', /Chrom(?:e|ium)\/(\d+)/],
  ['WebKit', /\bVersion\/(\d+(?:\.\d+)?)/],
];

/**
 * Engine and major version, such as `Blink 131`; for WebKit the minor version too, since it comes with the system. Returns the
 * whole text if it names none of the known engines.
 */
export function browserEngine(userAgent: string): string {
  for (const [name, version] of ENGINES) {
    const found = version.exec(userAgent)?.[1];
    if (found !== undefined) return `${name} ${found}`;
  }
  return userAgent;
}
