/** Functions of design documents as filters of changes (docs/http/changes.md#filters-of-changes). Each call handles many documents. */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import type { Program } from '../../../queries/sandbox/contract.ts';
import type { DeferredFilters, FilterRequest } from '../../database/change-filters.ts';
import { documentFilter } from '../../database/document-filter.ts';
import { readDesign } from '../../documents/design-document.ts';
import type { DesignService } from './design-service.ts';
import { functionRequest } from './function-request.ts';

export type FunctionFilters = Pick<DeferredFilters, 'byFunction' | 'byView'>;

export function functionFilters(service: DesignService): FunctionFilters {
  return {
    byFunction: async (request, design, name) => {
      const program = await openProgram(service, request, design, ['filters', name]);
      const asked = await functionRequest(request.context, request.database, null, request.body);
      return documentFilter((documents) => program.filter(name, documents, asked), request.allLeaves);
    },
    byView: async (request, design, view) => {
      const program = await openProgram(service, request, design, ['views', view]);
      return documentFilter((documents) => program.filterByView(view, documents), request.allLeaves);
    },
  };
}

/** Fails with `not_found` if the design document has nothing at that path. */
async function openProgram(
  { programs }: DesignService,
  { database, snapshot }: FilterRequest,
  name: string,
  path: readonly string[],
): Promise<Program> {
  const design = await readDesign(snapshot, name);
  let found = await parseInTurns(design.body);
  for (const key of path) {
    found = isObject(found) ? ownMember(found, key) : undefined;
    if (found === undefined) throw new DatabaseError('not_found', `missing json key: ${key}`);
  }
  return programs.open(database, design);
}
