import { readFileSync } from 'node:fs';
import { noteGained } from './gained-memory.ts';

/** Why what a process uses can't be told here, or undefined where it can. */
export const noProcessFiles = process.platform === 'linux' ? undefined : 'only Linux tells what a process uses';

const POLL_MS = 10;
/** Of the clock in which Linux counts processor time; the same on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Bytes of memory that are of no file, which is what a process takes from others. */
export function anonymousMemory(pid: number): number {
  const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** 0 where the process has ended. */
function memoryWhileRunning(pid: number): number {
  try {
    return anonymousMemory(pid) || 0;
  } catch {
    return 0;
  }
}

/** Seconds that a process has run on a processor: unlike those of a clock they hardly depend on what else the machine does. */
export function processorSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which stands in parentheses: state, ten more fields, then the ticks of user and system.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/**
 * Seconds that processors were taken by anything but a process and this one. Counted in ticks for each of these, so it says something of
 * tenths of a second only.
 */
export function processorSecondsOfOthers(pid: number): number {
  const [, user, nice, system, , , irq, softirq, steal] = (
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? ''
  ).split(/\s+/);
  const all = [user, nice, system, irq, softirq, steal].reduce((sum, ticks) => sum + Number(ticks ?? 0), 0);
  return all / TICKS_PER_SECOND - processorSeconds(pid) - processorSeconds(process.pid);
}

/** What is the most that a process, or several together, hold while something is under way, and what came of that. */
export async function highestMemory<T>(
  pids: number | readonly number[],
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly before: number; readonly highest: number }> {
  const present = () => [pids].flat().reduce((sum, pid) => sum + memoryWhileRunning(pid), 0);
  const before = present();
  let highest = before;
  const poll = setInterval(() => {
    highest = Math.max(highest, present());
  }, POLL_MS);
  try {
    const result = await work();
    highest = Math.max(highest, present());
    return { result, before, highest };
  } finally {
    clearInterval(poll);
    noteGained(highest - before);
  }
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
