/** `npm test -- --long`: as many rounds as there may be, and all cases on all hosts. */
export const isLongRun = process.env['SETTEE_LONG'] !== undefined;

/** How often something that is chosen at random is tried: `usual` times with each change, `long` in a long run. Each run has other seeds. */
export function roundsOf(usual: number, long: number): number {
  return isLongRun ? long : usual;
}
