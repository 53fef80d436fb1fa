const units = ['kB', 'MB', 'GB', 'TB'] as const;

/** A number of bytes for people: `999 bytes`, `20.1 MB`; a kB has 1000. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  let scaled = bytes / 1000;
  let unit = 0;
  // A number that would be shown as 1000.0 is 1.0 of the next unit.
  while (scaled >= 999.95 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  return `${scaled.toFixed(1)} ${units[unit]}`;
}
