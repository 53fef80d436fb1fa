/** Numbers, sizes and times as people read them. */

const counts = new Intl.NumberFormat('en');

/** `171,075` */
export function formatCount(count: number): string {
  return counts.format(count);
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `4.2 MB` */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** `just now`, `5 min ago`, `3 days ago`; `at`: milliseconds since the epoch. */
export function formatAgo(at: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}

/** `2026-11-28 21:20:05`, the time of this computer: the one way in which the page writes times. `at`: milliseconds since the epoch. */
export function formatTime(at: number): string {
  const time = new Date(at);
  const date = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(twoDigits).join('-');
  return `${date} ${formatClock(at)}`;
}

/** `21:20:05` */
export function formatClock(at: number): string {
  const time = new Date(at);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':');
}

function twoDigits(count: number): string {
  return `${count}`.padStart(2, '0');
}

/** `1 document`, `2 documents`, `1,000 documents` */
export function formatMany(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}
