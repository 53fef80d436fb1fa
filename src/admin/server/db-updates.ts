/** Tells which databases have changed, by the feed `_db_updates`. */
import { open } from './client.ts';

const AGAIN_MS = 5_000;
const HEARTBEAT_MS = 25_000;

/**
 * Calls `changed` with the name of each database that is created, deleted or written to. Ends with the signal. Where the server has no
 * such feed, or the user no right to it, `unavailable` is called once.
 */
export async function followDatabases(
  signal: AbortSignal,
  { changed, unavailable }: { readonly changed: (name: string) => void; readonly unavailable: () => void },
): Promise<void> {
  const request = { method: 'GET', path: `_db_updates?feed=continuous&since=now&heartbeat=${HEARTBEAT_MS}` };
  while (!signal.aborted) {
    try {
      const response = await open(request, signal);
      for await (const line of linesOf(response)) {
        const name = nameIn(line);
        if (name !== undefined) changed(name);
      }
    } catch (failure) {
      if (signal.aborted) return;
      if (failure instanceof Error && 'status' in failure && failure.status !== 0) return unavailable();
    }
    await pause(AGAIN_MS, signal);
  }
}

/** The lines of a response as they come, empty ones left out. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      if (rest.trim() !== '') yield rest;
      return;
    }
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield line;
  }
}

function nameIn(line: string): string | undefined {
  try {
    const { db_name, dbname } = JSON.parse(line);
    const name = db_name ?? dbname;
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
