/** Runs checks against this server, each in a database that exists only for it. */
import { useEffect, useRef } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { useLoaded } from '../components/load.ts';
import { TimeAt } from '../components/time.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { CHECKS, type CheckResult } from './checks.ts';
import { LeftDatabases } from './left-databases.tsx';
import { runChecks, selfTest } from './run.ts';
import { leftDatabases } from './scratch.ts';
import './self-test.css';
import { thisServer } from '../server/where.ts';

export function SelfTest() {
  const { results, isRunning, failure, at } = selfTest.value;
  const left = useLoaded(leftDatabases, []);
  // What a check could not delete is known when the run ends.
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (wasRunning.current && !isRunning) left.reload();
    wasRunning.current = isRunning;
  }, [isRunning]);
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
          onClick={() => void runChecks()}
        >
          {isRunning ? 'Running …' : `Run ${CHECKS.length} checks`}
        </WriteButton>
      </header>
      <p>
        Each check creates a database whose name begins with <code>self-test-</code>, sends some requests to it, and
        deletes it. Your own databases stay as they are. If the tab is closed in the middle, a database may be left: it
        is then listed here. The requests are in the <a href="#/console">console</a> afterwards.
      </p>
      <LeftDatabases left={left} isRunning={isRunning} />
      <ErrorNote failure={failure} />
      <p role="status" class={hasFailed ? 'bad-text' : undefined}>
        {summaryOf(results, isRunning)}
        {at !== undefined && !isRunning && (
          <span class="muted">
            {' '}
            Checked at <TimeAt at={at} />.
          </span>
        )}
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
      <span class="check-name">
        {name} <small class="muted">{formatCount(Math.round(tookMs))} ms</small>
      </span>
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
