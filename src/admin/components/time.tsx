import { formatAgo, formatTime } from './format.ts';

/** `2026-11-28 21:20:05`, with how long ago as a hint. `text`: a time that the server wrote, shown as it is if it can't be read. */
export function Time({ text }: { readonly text: string }) {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : <TimeAt at={at} />;
}

/** `at`: milliseconds since the epoch. */
export function TimeAt({ at }: { readonly at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={formatAgo(at)}>
      {formatTime(at)}
    </time>
  );
}
