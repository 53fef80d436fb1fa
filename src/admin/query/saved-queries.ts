/** Queries that the user keeps, in the page's own storage: for each database, by name. */
import { useState } from 'preact/hooks';

const keyOf = (database: string) => `settee-utils/queries/${database}`;
const lastKeyOf = (database: string) => `settee-utils/query/${database}`;

export type SavedQueries = Readonly<Record<string, string>>;

export function useSavedQueries(database: string) {
  const [saved, setSaved] = useState<SavedQueries>(() => read(database));
  const change = (next: SavedQueries) => {
    setSaved(next);
    localStorage.setItem(keyOf(database), JSON.stringify(next));
  };
  return {
    saved,
    save: (name: string, text: string) => change({ ...saved, [name]: text }),
    forget: (name: string) => change(Object.fromEntries(Object.entries(saved).filter(([other]) => other !== name))),
  };
}

/** What was in the editor when the screen was left. */
export function lastText(database: string): string | undefined {
  return localStorage.getItem(lastKeyOf(database)) ?? undefined;
}

export function keepText(database: string, text: string): void {
  localStorage.setItem(lastKeyOf(database), text);
}

function read(database: string): SavedQueries {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(database)) ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, `${text}`]));
  } catch {
    return {};
  }
}
