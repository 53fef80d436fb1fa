import { formatCount, formatMany } from '../components/format.ts';
import { WriteButton } from '../components/write-button.tsx';
import type { Explanation } from './explain.ts';
import { examinedOf, type Found, readsTooMuch, type Stats } from './selector-query.ts';

interface ExplainedProps {
  readonly database: string;
  /** Undefined: the server has no `_explain`. */
  readonly explanation: Explanation | undefined;
  /** False: the query failed, so that there is nothing to explain. */
  readonly hasExplanation: boolean;
  readonly found: Found | undefined;
  /** The fields of the index that would help; undefined if there is none. */
  readonly helpful: string | undefined;
  readonly onMakeIndex: () => void;
}

/** How a query runs, in words, and what it read. */
export function Explained({ database, explanation, hasExplanation, found, helpful, onMakeIndex }: ExplainedProps) {
  return (
    <section class="note explained" aria-label="How the query runs">
      {found?.stats !== undefined && <Examined stats={found.stats} tookMs={found.tookMs} />}
      {explanation !== undefined && <Words of={explanation} />}
      {hasExplanation && explanation === undefined && <p class="muted">This server has no _explain.</p>}
      {found?.warning?.split('\n').map((sentence) => (
        <p class="muted" key={sentence}>
          {sentence}
        </p>
      ))}
      {helpful !== undefined && (
        <p class="helpful">
          <span>
            An index by <code>{helpful}</code> would help.
          </span>
          <WriteButton class="primary" adminOf={database} onClick={onMakeIndex}>
            Make this index
          </WriteButton>
        </p>
      )}
    </section>
  );
}

function Examined({ stats, tookMs }: { readonly stats: Stats; readonly tookMs: number }) {
  const isBad = readsTooMuch(stats);
  const examined = examinedOf(stats);
  const times = examined / Math.max(1, stats.returned);
  return (
    <p>
      <span class={isBad ? 'tag bad examined' : 'tag good examined'}>
        {formatMany(examined, stats.documents === 0 ? 'key' : 'document')} examined, {formatCount(stats.returned)}{' '}
        returned
      </span>{' '}
      {isBad && <span class="bad-text">{formatCount(Math.round(times))} for each result. </span>}
      <span class="muted">{formatCount(Math.round(tookMs))} ms</span>
    </p>
  );
}

function Words({ of }: { readonly of: Explanation }) {
  const { index, range, filtered, isCovering, others } = of;
  return (
    <>
      <p>
        {index} {range} {isCovering && 'The index alone is enough: no document is read.'}
      </p>
      {filtered.length > 0 && (
        <p>
          {isCovering ? 'What it finds is then checked for' : 'Each document that was read is then checked for'}{' '}
          {filtered.map((condition, index) => (
            <span key={condition}>
              {index > 0 && ' and '}
              <code>{condition}</code>
            </span>
          ))}
          .
        </p>
      )}
      {others.length > 0 && (
        <details>
          <summary>Indexes that were not chosen</summary>
          <ul>
            {others.map(({ name, why }) => (
              <li key={name}>
                <strong>{name}</strong>: <span class="muted">{why}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
