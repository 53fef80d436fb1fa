/** The log as lines of JSON (docs/node.md#the-log): its entries, and one for each request. */
import type { Config } from '../../base/system/contract.ts';
import { escapeControls, followLogLevel } from '../../base/system/log.ts';
import type { TracedRequest } from './channels.ts';

/** Whether requests are lines of JSON, rather than entries of text. */
export function hasJsonRequests(config: Config): boolean {
  return config.get('log', 'requests') === 'json' || isJson(config);
}

function isJson(config: Config): boolean {
  return config.get('log', 'format') === 'json';
}

/** Returns whether requests are written as lines of JSON now. `config` is called each time. */
export function followAccessLog(config: () => Config): () => boolean {
  const level = followLogLevel(config);
  return () => {
    const now = config();
    if (!hasJsonRequests(now)) return false;
    if (level() === 'request') return true;
    return now.get('log', 'requests') !== 'false' && (level() === 'info' || level() === 'debug');
  };
}

/** The length of a time such as 2026-01-31T12:00:00.000Z. */
const TIME_LENGTH = 24;

/** An entry of the log, in the form that the settings ask for. `text` is of the form `2026-01-31T12:00:00.000Z [info] text`. */
export function entryIn(config: Config, text: string, level: string): string {
  if (!isJson(config)) return text;
  const message = text.slice(TIME_LENGTH + ` [${level}] `.length);
  return lineOf({ time: text.slice(0, TIME_LENGTH), level, message });
}

/** `beganMs` in milliseconds since the epoch. */
export function accessEntry(request: TracedRequest, beganMs: number, durationMs: number): string {
  const { id, method, path, database, peer, trace, status, bytes, user, isAborted } = request;
  return lineOf({
    time: new Date(beganMs).toISOString(),
    level: 'info',
    event: 'request',
    ...{ method, path, status, bytes, duration_ms: Math.round(durationMs * 10) / 10, user, peer, database, id },
    trace_id: trace?.traceId ?? null,
    ...(isAborted === true && { aborted: true }),
  });
}

function lineOf(entry: object): string {
  return escapeControls(JSON.stringify(entry));
}
