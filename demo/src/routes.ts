/** The page's address says what it shows, after the `#`: `#/cities/vienna.at`, `#/cities?q=vien`, `#/sync`, `#/browser`; without any, `#/notes`. */
import { type Dataset, datasets } from './data/datasets.ts';

export type Route =
  | { readonly page: 'dataset'; readonly dataset: Dataset; readonly id: string | undefined; readonly query: string }
  | { readonly page: 'notes' }
  | { readonly page: 'sync' }
  | { readonly page: 'browser' };

export function readRoute(hash: string, fallback: Dataset): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', id] = path.split('/');
  if (name === '') return { page: 'notes' };
  if (name === 'browser' || name === 'sync' || name === 'notes') return { page: name };
  return {
    page: 'dataset',
    dataset: datasets.find((dataset) => dataset.name === name) ?? fallback,
    id: id === undefined || id === '' ? undefined : decode(id),
    query: new URLSearchParams(search).get('q') ?? '',
  };
}

export function hashOf(dataset: Dataset, id: string | undefined, query: string): string {
  const path = id === undefined ? `#/${dataset.name}` : `#/${dataset.name}/${encodeURIComponent(id)}`;
  return query === '' ? path : `${path}?${new URLSearchParams({ q: query })}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
