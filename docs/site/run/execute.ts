/** Runs the code of blocks so that each goes on where the one before it stopped. */
import type { PageDatabase } from './page-database.ts';

/** A block as the build made it: see `build/script.mjs`. */
export interface Code {
  readonly text: string;
  /** Variables that it declares. */
  readonly names: readonly string[];
  /** The page of an app, in which the code runs. */
  readonly html?: string;
}

/** The variables of all blocks of a page. */
export type Scope = Record<string, unknown>;

export interface Output {
  log(...values: readonly unknown[]): void;
}

/** A loop over live changes. Apart from the blocks that come later, it has its own console. */
export type Loop = (console: object) => Promise<void>;

type Run = (scope: Scope) => Promise<unknown>;

/** An asynchronous function of which only the text is known. It is not strict: it needs `with`. */
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (...source: string[]) => Run;

/**
 * The variables by which code reaches the database. When `isOver`, what still runs, as loops and the handlers of apps do, reaches nothing any more;
 * `end` breaks off what it waits for.
 */
export function createAccess(database: PageDatabase, isOver: () => boolean, end: AbortSignal): Scope {
  const ask: typeof fetch = async (input, init) => {
    if (!isOver()) return database.fetch(input, { signal: end, ...init });
    const reason = 'This code was run again, or its page was emptied.';
    return Response.json({ error: 'gone', reason }, { status: 410 });
  };
  return { fetch: ask, setteeImport: (name: string) => database.import(name, ask) };
}

/** Resolves to the value of the last statement; rejects with what the block throws. */
export async function execute(code: Code, scope: Scope, output: Output): Promise<unknown> {
  for (const name of code.names) scope[name] ??= undefined;
  scope['console'] = consoleFor(output);
  const run = new AsyncFunction('scope', `with (scope) {\n${code.text}\n}`);
  return run(scope);
}

export function consoleFor(output: Output): object {
  const write = (...values: unknown[]) => output.log(...values);
  return { log: write, info: write, warn: write, error: write, debug: write, table: write };
}
