/** Views of a mapper that counts what it maps. */
import type { MapperFactory } from '../../../../src/queries/views/contract.ts';
import type { MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { type Json, ViewFixture } from '../../../support/view-fixture.ts';

/** A mapper that counts the documents that it is given, and can be made to wait or to fail. */
export class CountingMapper implements MapperFactory {
  readonly mapped: string[] = [];
  opened = 0;
  before: (count: number) => Promise<void> | void = () => undefined;
  /** Of a call, the documents behind these are left over. */
  mostOfCall = Number.POSITIVE_INFINITY;

  open(): ReturnType<MapperFactory['open']> {
    this.opened++;
    return {
      batchSize: 10,
      map: async (documents) => {
        await this.before(this.mapped.length);
        const taken = documents.slice(0, this.mostOfCall);
        const parsed = taken.map((text) => JSON.parse(text) as { _id: string; year: Json });
        for (const document of parsed) this.mapped.push(document._id);
        const keys = parsed.map((document) => JSON.stringify(document.year ?? null));
        return [{ counts: keys.map(() => 1), keys, values: keys.map(() => '1') }];
      },
      release: () => undefined,
    };
  }
}

export const counted = { counted: { map: 'year', reduce: '_count' } };

export function documents(count: number, from = 0): Record<string, Json> {
  return Object.fromEntries(
    Array.from({ length: count }, (_unused, index) => [
      `d${String(from + index).padStart(5, '0')}`,
      { year: index % 7 },
    ]),
  );
}

export async function openCounting(mapper: CountingMapper, medium?: MemoryMedium, settings = {}): Promise<ViewFixture> {
  return ViewFixture.open({ ...(medium ? { medium } : {}), parts: { mappers: { counting: mapper }, settings } });
}

export const language = { language: 'counting' };
