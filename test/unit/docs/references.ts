import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './pages.ts';

/** A source file, in which comments and texts may refer to pages of the documentation. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** What may refer to pages: everything of ours but these tests, which make references up. */
export function readReferringSources(): Source[] {
  const paths = ['src', 'sw', 'demo', 'test'].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.(ts|mjs|html|css)$/.test(path) && !path.startsWith('test/unit/docs/')),
  );
  return [...paths, 'vite.config.ts'].map((path) => ({ path, text: readFileSync(join(repository, path), 'utf8') }));
}

/** Such as `docs/internals.md#fencing`, `src/README.md` or `README.md#try-it`; not the end of a longer path. */
const REFERENCE = /(?<![\w/.-])((?:docs\/(?:http\/)?[\w.-]+|src\/README|README)\.md)(?:#([\p{L}\p{N}_-]+))?/gu;

/** The references to pages or headings that are not there. `anchors` has those of each page, by its path. */
export function brokenReferences({ path, text }: Source, anchors: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...text.matchAll(REFERENCE)]
    .filter(([, page = '', anchor]) => {
      const known = anchors.get(page);
      return known === undefined || (anchor !== undefined && !known.has(anchor));
    })
    .map(([reference]) => `${path}: ${reference}`);
}
