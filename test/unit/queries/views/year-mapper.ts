import type { MapperFactory } from '../../../../src/queries/views/contract.ts';
import { design } from '../../../support/view-fixture.ts';

/** A language whose only map emits the year of each document: cheaper than a sandbox where the map does not matter. */
export const yearMappers: Readonly<Record<string, MapperFactory>> = {
  years: {
    open: ({ maps }) => ({
      map: (documents) => {
        const keys = documents.map((text) => JSON.stringify((JSON.parse(text) as { year: number }).year));
        return maps.map(() => ({ counts: keys.map(() => 1), keys, values: keys.map(() => VALUE_TEXT) }));
      },
      release: () => undefined,
    }),
  },
};

const VALUE_TEXT = '"xxxxxxxxxxxxxxxxxxxxxxxx"';

export const yearsDesign = design({ v: { map: 'years', reduce: '_count' } }, { language: 'years' });
