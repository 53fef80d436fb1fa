/** Which strings of a text are ids of documents, asked for when typing pauses. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { parseJson } from '../json/json-tree.ts';
import { hrefOf } from '../page/router.ts';
import { existingIds } from '../server/linked-ids.ts';
import { idCandidates } from './id-candidates.ts';

const PAUSE_MS = 300;

/** Returns the addresses of documents by the ids that are in the text, in its order. */
export function useKnownIds(database: string, id: string, text: string): ReadonlyMap<string, string> {
  const [ids, setIds] = useState<readonly string[]>([]);
  // Whether there is such a document, as far as it was asked for.
  const known = useRef(new Map<string, boolean>());
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const candidates = candidatesIn(text, id);
      if (candidates === undefined) return;
      const unknown = candidates.filter((one) => !known.current.has(one));
      // Links are an extra: without a response there are none.
      existingIds(database, unknown, controller.signal).then(
        (existing) => {
          for (const one of unknown) known.current.set(one, existing.has(one));
          setIds(candidates.filter((one) => known.current.get(one) === true));
        },
        () => undefined,
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [database, id, text]);
  const key = ids.join('\n');
  return useMemo(() => new Map(ids.map((one) => [one, hrefOf(['db', database, 'document', one])])), [database, key]);
}

/** Undefined: the text is not JSON now. The links of before stay then. */
function candidatesIn(text: string, id: string): readonly string[] | undefined {
  try {
    return idCandidates(parseJson(text), id);
  } catch {
    return undefined;
  }
}
