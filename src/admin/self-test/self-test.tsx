/** Runs checks against this server, each in a database that exists only for it. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { WriteButton } from '../components/write-button.tsx';
import { ask, pathOf, ServerError } from '../server/client.ts';
import { CHECKS, type Check, type CheckResult } from './checks.ts';
import './self-test.css';

export function SelfTest() {
  const [results, setResults] = useState<readonly CheckResult[]>([]);
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  const run = async () => {
    setRunning(true);
    setFailure(undefined);
    setResults([]);
    try {
      for (const check of CHECKS) {
        const result = await runCheck(check);
        setResults((former) => [...former, result]);
      }
    } catch (error) {
      setFailure(error);
    } finally {
      setRunning(false);
    }
  };
  const failed = results.filter(({ problem }) => problem !== undefined).length;
  return (
    <section>
      <header class="screen-head">
        <h1>Self-test</h1>
        <span class="spring" />
        <WriteButton
          class="primary"
          needsAdmin
          why={isRunning ? 'It is running.' : undefined}
          onClick={() => void run()}
        >
          {isRunning ? 'Running …' : `Run ${CHECKS.length} checks`}
        </WriteButton>
      </header>
      <p>
        Each check creates a database whose name begins with <code>self-test-</code>, sends some requests to it, and
        deletes it. Your own databases stay as they are. The requests are in the <a href="#/console">console</a>{' '}
        afterwards.
      </p>
      <ErrorNote failure={failure} />
      <p role="status" class={failed > 0 ? 'bad-text' : undefined}>
        {summaryOf(results.length, failed, isRunning)}
      </p>
      <ol class="checks">
        {results.map((result) => (
          <Result key={result.name} result={result} />
        ))}
      </ol>
    </section>
  );
}

function Result({ result: { name, problem, tookMs } }: { readonly result: CheckResult }) {
  return (
    <li>
      <span class={problem === undefined ? 'tag good' : 'tag bad'}>{problem === undefined ? 'passed' : 'failed'}</span>
      <span>{name}</span>
      <span class="muted">{formatCount(Math.round(tookMs))} ms</span>
      {problem !== undefined && <p class="bad-text">{problem}</p>}
    </li>
  );
}

function summaryOf(done: number, failed: number, isRunning: boolean): string {
  if (done === 0) return isRunning ? 'The first check runs.' : 'Nothing has run yet.';
  const so = isRunning ? ' so far' : '';
  return failed === 0 ? `All ${done} passed${so}.` : `${failed} of ${done} failed${so}.`;
}

/** Fails only if the database can't be created or deleted. */
async function runCheck({ name, run }: Check): Promise<CheckResult> {
  const database = `self-test-${crypto.randomUUID()}`;
  await ask('PUT', pathOf(database));
  const began = performance.now();
  try {
    await run(database);
    return { name, problem: undefined, tookMs: performance.now() - began };
  } catch (error) {
    return { name, problem: problemOf(error), tookMs: performance.now() - began };
  } finally {
    await ask('DELETE', pathOf(database));
  }
}

function problemOf(error: unknown): string {
  if (error instanceof ServerError)
    return `${error.request.method} /${error.request.path}: ${error.status} ${error.reason}`;
  return error instanceof Error ? error.message : `${error}`;
}
