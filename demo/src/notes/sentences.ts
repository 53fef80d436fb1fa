/** How actions are told: who did what, with which requests. */
import { formatMs } from '../elements/format.ts';

/** A request that an action took. */
export interface Counted {
  readonly method: string;
  readonly ms: number;
}

/** `1 PUT, 3 ms`, `2 PUT, 1 POST, 12 ms`. */
export function describeRequests(requests: readonly Counted[]): string {
  const counts = new Map<string, number>();
  for (const { method } of requests) counts.set(method, (counts.get(method) ?? 0) + 1);
  const ms = requests.reduce((sum, request) => sum + request.ms, 0);
  return [...[...counts].map(([method, count]) => `${count} ${method}`), formatMs(ms)].join(', ');
}

/** `The phone stored the note: 1 PUT, 3 ms, offline.` */
export function sentence(subject: string, did: string, requests: readonly Counted[], isConnected: boolean): string {
  return `The ${subject.toLowerCase()} ${did}: ${describeRequests(requests)}, ${isConnected ? 'connected' : 'disconnected'}.`;
}

/** The beginning of a text, in quotes. */
export function quoted(text: string): string {
  return `“${text.length > 40 ? `${text.slice(0, 39)}…` : text}”`;
}
