/** Formats numbers for people. */
const count = new Intl.NumberFormat('en');
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

export function formatCount(value: number): string {
  return count.format(Math.round(value));
}

export function formatDocuments(value: number): string {
  return `${formatCount(value)} ${Math.round(value) === 1 ? 'document' : 'documents'}`;
}

export function formatShare(part: number, whole: number): string {
  const share = whole === 0 ? 0 : part / whole;
  return share > 0 && share < 0.001 ? 'Less than 0.1%' : percent.format(share);
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : count.format(Math.round(value))} ${units[step]}`;
}

const clock = new Intl.DateTimeFormat('en', { hour: 'numeric', minute: '2-digit', second: '2-digit' });

/** The time of day; `ms` since the epoch. */
export function formatTime(ms: number): string {
  return clock.format(ms);
}

export function formatWait(seconds: number): string {
  return seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

export function formatMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${formatCount(ms)} ms`;
}
