/** Names the engine that runs this code, so that what depends on its version can tell another from it. */

/** What tells the engines apart in `navigator.userAgent`; iOS has WebKit whatever the browser is called. */
const ENGINES: readonly (readonly [name: string, version: RegExp])[] = [
  ['WebKit iOS', /\b(?:iPhone )?OS (\d+_\d+)\b/],
  ['Gecko', /\bFirefox\/(\d+)/],
  ['Blink', /Chrom(?:e|ium)\/(\d+)/],
  ['WebKit', /\bVersion\/(\d+(?:\.\d+)?)/],
];

/**
 * Engine and major version, such as `Blink 131`; of WebKit the minor version too, since it comes with the system. The
 * whole text where it tells none of the known ones.
 */
export function browserEngine(userAgent: string): string {
  for (const [name, version] of ENGINES) {
    const found = version.exec(userAgent)?.[1];
    if (found !== undefined) return `${name} ${found}`;
  }
  return userAgent;
}
