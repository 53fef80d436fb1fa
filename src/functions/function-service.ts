/**
 * What can be loaded on first use: view indexes, programs, validators, selector queries and handlers. Browsers have this in a file of its
 * own, so nothing but entries may import it.
 */
import { DesignPrograms } from '../design/design-programs.ts';
import { openValidation } from '../design/validation.ts';
import { createFinder } from '../find/finder.ts';
import { createQueryMappers } from '../find/query-mapper.ts';
import { functionHandlers } from '../http/function-handlers.ts';
import type { Sandbox } from '../query-server/contract.ts';
import { createViewIndexes } from '../views/view-indexes.ts';
import type { FunctionParts, FunctionService, LoadFunctions } from './contract.ts';

/** Without a sandbox functions are answered with 501. It is closed with the service. */
export function createFunctionService(parts: FunctionParts, sandbox: Sandbox | undefined): FunctionService {
  const { clock, config, log } = parts;
  const programs = new DesignPrograms({ sandbox, config, log });
  const views = createViewIndexes({ ...parts, sandbox, mappers: { query: createQueryMappers() } });
  return {
    handlers: functionHandlers,
    views,
    programs,
    finder: createFinder({ views, clock }),
    openValidators: (database, designs) => openValidation(database, designs, { programs, clock }),
    close: () => sandbox?.close(),
  };
}

/** For hosts that have this code at hand. The sandbox serves one core. */
export function functionsAtHand(sandbox?: Sandbox): LoadFunctions {
  return () => (parts) => createFunctionService(parts, sandbox);
}
