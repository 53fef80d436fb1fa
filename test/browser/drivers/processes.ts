import { readdirSync, readFileSync } from 'node:fs';
import { patient } from '../../support/patience.ts';

/** The machine's processes, as Linux shows them below /proc. */
export const seesProcesses: true | string =
  process.platform === 'linux' ? true : 'processes are looked at below /proc, which only Linux has';

interface ProcessEntry {
  readonly id: number;
  readonly parent: number;
  /** Clock ticks spent in the process itself. */
  readonly ticks: number;
}

function readEntry(id: number): ProcessEntry | undefined {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    // proc(5): the name in parentheses may hold blanks; after it come state, ppid, …, utime (14th), stime (15th).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { id, parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch {
    return undefined;
  }
}

function allIds(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []));
}

/** Every process that descends from `root`. */
function descendantsOf(root: number): ProcessEntry[] {
  const entries = allIds().flatMap((id) => readEntry(id) ?? []);
  const found = new Set([root]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const { id, parent } of entries) if (found.has(parent)) found.add(id);
  }
  return entries.filter(({ id }) => found.has(id) && id !== root);
}

/** The descendants of `root` whose command line holds `kind`. */
export function processesBelow(root: number, kind: string): number[] {
  return descendantsOf(root).flatMap(({ id }) => (commandOf(id).includes(kind) ? id : []));
}

/** The process whose command line holds `text`, and whose parent's does not. */
export function findProcess(text: string): number {
  const holding = new Set(allIds().filter((id) => id !== process.pid && commandOf(id).includes(text)));
  const found = [...holding].find((id) => !holding.has(readEntry(id)?.parent ?? 0));
  if (found === undefined) throw new Error(`no process has ${text} in its command line`);
  return found;
}

function commandOf(id: number): string {
  return textOf(`/proc/${id}/cmdline`);
}

/** Empty where there is no such file any more, or it may not be read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * The descendant of `root` that works while `work` runs, of those whose command line holds `kind`: no driver tells which
 * process a tab has. Repeats where another one was about as busy.
 */
export async function busiestProcess(root: number, kind: string, work: () => Promise<unknown>): Promise<number> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const before = new Map(descendantsOf(root).map(({ id, ticks }) => [id, ticks]));
    await work();
    const [busiest, next] = descendantsOf(root)
      .filter(({ id }) => before.has(id) && commandOf(id).includes(kind))
      .map(({ id, ticks }) => ({ id, spent: ticks - (before.get(id) ?? 0) }))
      .toSorted((one, other) => other.spent - one.spent);
    if (busiest !== undefined && busiest.spent > 3 * (next?.spent ?? 0)) return busiest.id;
  }
  throw new Error(`no descendant of process ${root} with ${kind} stands out by its work`);
}

/** Keeps the thread of a page busy for long enough to be told from all others. */
export const burnProcessor = '(() => { const end = Date.now() + 400; while (Date.now() < end); })()';

/**
 * Stops a process (SIGSTOP) while it waits for something: what a browser freezes it lets come to the end of its task. A
 * process that is stopped in the middle of one may have begun a transaction without having said what is in it. No browser
 * does that to a tab, and no tab could see to it. What the threads were at is asked after the stop: before it would be
 * too early, on a machine with other work by much.
 */
export async function freezeProcess(id: number): Promise<void> {
  for (const giveUpAt = Date.now() + patient.timeout; Date.now() < giveUpAt; ) {
    process.kill(id, 'SIGSTOP');
    while (threadsOf(id).some((thread) => !/\) [Tt] /.test(textOf(`${thread}/stat`))));
    if (threadsOf(id).every(wasWaiting)) return;
    process.kill(id, 'SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`process ${id} never waited`);
}

/** Those that run scripts or carry messages. */
function threadsOf(id: number): string[] {
  const threads = readdirSync(`/proc/${id}/task`).map((thread) => `/proc/${id}/task/${thread}`);
  return threads.filter((thread) => thread.endsWith(`/${id}`) || /worker|iot|ipc/i.test(textOf(`${thread}/comm`)));
}

/** The numbers of futex, poll, ppoll, epoll_wait, epoll_pwait, epoll_pwait2 and restart_syscall, as far as the processor has them. */
const waitingCalls: Readonly<Partial<Record<string, readonly string[]>>> = {
  x64: ['202', '7', '271', '232', '281', '441', '219'],
  arm64: ['98', '73', '22', '441', '128'],
};

/** Whether a stopped thread stopped in a call that waits; true where the system does not say. */
function wasWaiting(thread: string): boolean {
  const [call = ''] = textOf(`${thread}/syscall`).split(' ', 1);
  return call === '' || (waitingCalls[process.arch]?.includes(call) ?? true);
}
