/** Runs checks against this server, each in a database that exists only for it. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { WriteButton } from '../components/write-button.tsx';
import { ServerError } from '../server/client.ts';
import { AbsentError, CHECKS, type Check, type CheckResult } from './checks.ts';
import { LeftDatabases } from './left-databases.tsx';
import { leftDatabases, withScratch } from './scratch.ts';
import './self-test.css';
import { thisServer } from '../server/where.ts';

export function SelfTest() {
  const [results, setResults] = useState<readonly CheckResult[]>([]);
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  const left = useLoaded(leftDatabases, []);
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
      left.reload();
    }
  };
  const hasFailed = results.some(({ outcome }) => outcome === 'failed');
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
      <LeftDatabases left={left} isRunning={isRunning} />
      <ErrorNote failure={failure} />
      <p role="status" class={hasFailed ? 'bad-text' : undefined}>
        {summaryOf(results, isRunning)}
      </p>
      <ol class="checks">
        {results.map((result) => (
          <Result key={result.name} result={result} />
        ))}
      </ol>
    </section>
  );
}

const TAGS = {
  passed: { kind: 'good', text: 'passed' },
  failed: { kind: 'bad', text: 'failed' },
  absent: { kind: 'warn', text: 'not there' },
} as const;

function Result({ result: { name, outcome, problem, tookMs } }: { readonly result: CheckResult }) {
  const { kind, text } = TAGS[outcome];
  return (
    <li>
      <span class={`tag ${kind}`}>{text}</span>
      <span>{name}</span>
      <span class="muted">{formatCount(Math.round(tookMs))} ms</span>
      {problem !== '' && <p class={outcome === 'failed' ? 'bad-text' : 'muted'}>{problem}</p>}
    </li>
  );
}

function summaryOf(results: readonly CheckResult[], isRunning: boolean): string {
  if (results.length === 0) return isRunning ? 'The first check runs.' : 'Nothing has run yet.';
  const count = (wanted: CheckResult['outcome']) => results.filter(({ outcome }) => outcome === wanted).length;
  const [failed, absent] = [count('failed'), count('absent')];
  const so = isRunning ? ' so far' : '';
  const there = results.length - absent;
  const missing =
    absent === 0 ? '' : ` ${absent} ${absent === 1 ? 'is' : 'are'} about what ${thisServer()} does not have.`;
  return `${failed === 0 ? `All ${there} passed${so}.` : `${failed} of ${there} failed${so}.`}${missing}`;
}

/** Fails only if the database can't be created or deleted. */
async function runCheck({ name, run }: Check): Promise<CheckResult> {
  let result: CheckResult = { name, outcome: 'passed', problem: '', tookMs: 0 };
  await withScratch(async (database) => {
    const began = performance.now();
    try {
      await run(database);
      result = { ...result, tookMs: performance.now() - began };
    } catch (error) {
      // Without a server there is nothing to check.
      if (error instanceof ServerError && error.status === 0) throw error;
      const outcome = error instanceof AbsentError ? 'absent' : 'failed';
      result = { name, outcome, problem: problemOf(error), tookMs: performance.now() - began };
    }
  });
  return result;
}

function problemOf(error: unknown): string {
  if (error instanceof ServerError)
    return `${error.request.method} /${error.request.path}: ${error.status} ${error.reason}`;
  return error instanceof Error ? error.message : `${error}`;
}
