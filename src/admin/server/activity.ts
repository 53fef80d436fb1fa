/** What the server is doing: its tasks, its log, its statistics. */
import { ask, type JsonObject, open } from './client.ts';
import { objectOf, textOf } from './replications.ts';
import { isMissingEndpoint } from './session.ts';

export interface Task {
  readonly key: string;
  readonly type: string;
  readonly database: string | undefined;
  readonly designDocument: string | undefined;
  readonly status: string | undefined;
  /** Percent; undefined: not known. */
  readonly progress: number | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number | undefined;
  readonly task: JsonObject;
}

/** Undefined if the server has no list of tasks. */
export async function readTasks(signal?: AbortSignal): Promise<readonly Task[] | undefined> {
  const tasks = await ask<readonly JsonObject[]>('GET', '_active_tasks', { signal, quiet: true }).catch(
    (failure: unknown) => {
      if (!isMissingEndpoint(failure)) throw failure;
      return undefined;
    },
  );
  return tasks?.map((task, index) => ({
    key: `${textOf(task.pid) ?? index} ${textOf(task.type) ?? ''}`,
    type: textOf(task.type) ?? 'task',
    database: textOf(task.database),
    designDocument: textOf(task.design_document),
    status: textOf(task.status),
    progress: typeof task.progress === 'number' ? task.progress : undefined,
    startedAt: typeof task.started_on === 'number' ? task.started_on * 1000 : undefined,
    task,
  }));
}

export interface LogEntry {
  /** As the server writes it. */
  readonly time: string;
  readonly level: string;
  /** May have several lines. */
  readonly text: string;
}

/** Bytes of the log in one response: servers return no more. */
export const MAX_LOG_BYTES = 1_000_000;

/** The last `bytes` bytes of the log. Undefined if the server has no log that can be read. */
export async function readLog(bytes: number, signal: AbortSignal): Promise<readonly LogEntry[] | undefined> {
  try {
    const response = await open({ method: 'GET', path: `_log?bytes=${bytes}`, headers: { accept: '*/*' } }, signal);
    const text = await response.text();
    // The first line is cut if the log is longer.
    const isWhole = new TextEncoder().encode(text).length < bytes - 4;
    return parseLog(isWhole ? text : text.slice(text.indexOf('\n') + 1));
  } catch (failure) {
    if (isMissingEndpoint(failure)) return undefined;
    throw failure;
  }
}

const LINE = /^(\S+) \[(\w+)\] (.*)$/;

export function parseLog(text: string): readonly LogEntry[] {
  const entries: LogEntry[] = [];
  for (const line of text.split('\n')) {
    const [, time, level, message] = LINE.exec(line) ?? [];
    const last = entries.at(-1);
    if (time !== undefined && level !== undefined && message !== undefined)
      entries.push({ time, level, text: message });
    else if (line !== '' && last !== undefined)
      entries[entries.length - 1] = { ...last, text: `${last.text}\n${line}` };
    else if (line !== '') entries.push({ time: '', level: '', text: line });
  }
  return entries;
}

export interface Statistic {
  /** `httpd/requests` */
  readonly name: string;
  readonly description: string;
  /** A sum since the server was opened, or the value now. */
  readonly value: number | undefined;
  readonly mean: number | undefined;
  readonly max: number | undefined;
}

/** By name, sorted. Later versions of the family have another address and another form. */
export async function readStatistics(signal?: AbortSignal): Promise<readonly Statistic[]> {
  const options = { signal, quiet: true };
  try {
    return flatten(await ask('GET', '_stats', options));
  } catch (failure) {
    if (!isMissingEndpoint(failure)) throw failure;
    return flatten(await ask('GET', '_node/_local/_stats', options));
  }
}

function flatten(value: JsonObject, path: readonly string[] = []): readonly Statistic[] {
  const all = Object.entries(value).flatMap(([name, member]) => {
    const inner = objectOf(member);
    const names = [...path, name];
    return 'current' in inner || 'value' in inner ? [toStatistic(names.join('/'), inner)] : flatten(inner, names);
  });
  return path.length > 0 ? all : all.toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
}

function toStatistic(name: string, members: JsonObject): Statistic {
  const values = objectOf(members.value);
  return {
    name,
    description: textOf(members.description) ?? textOf(members.desc) ?? '',
    value: numberOf(members.current) ?? numberOf(members.value),
    mean: numberOf(members.mean) ?? numberOf(values.arithmetic_mean),
    max: numberOf(members.max) ?? numberOf(values.max),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The statistic of that name, below whatever root the server has. */
export function statisticOf(statistics: readonly Statistic[], name: string): Statistic | undefined {
  return statistics.find((one) => one.name === name || one.name.endsWith(`/${name}`));
}
