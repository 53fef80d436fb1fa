/**
 * What can be loaded on first use: view indexes, programs, validators, selector queries and handlers. Browsers have this in a file of its
 * own, so nothing but entries may import it.
 */
import { DesignPrograms } from '../design/design-programs.ts';
import { openValidators } from '../design/validators.ts';
import { createFinder } from '../find/finder.ts';
import { createQueryMappers } from '../find/indexes/query-mapper.ts';
import { functionHandlers } from '../http/routing/deferred-handlers.ts';
import type { Sandbox } from '../query-server/contract.ts';
import { BackgroundBuilds } from '../views/background-builds.ts';
import { createViewIndexes } from '../views/view-indexes.ts';
import type { CreateFunctions, FunctionParts, FunctionService, LoadFunctions } from './contract.ts';

/** Without a sandbox functions are answered with 501. It is closed with the service. */
export function createFunctionService(parts: FunctionParts, sandbox: Sandbox | undefined): FunctionService {
  const { databases, clock, config, log } = parts;
  const programs = new DesignPrograms({ sandbox, config, log });
  const views = createViewIndexes({ ...parts, sandbox, mappers: { query: createQueryMappers() } });
  const background = new BackgroundBuilds({
    databases,
    log,
    build: (database, design) => views.build(database, design),
    forget: (name) => views.forget(name),
  });
  return {
    handlers: functionHandlers,
    views,
    programs,
    finder: createFinder({ views, clock }),
    openValidators: (database, designs) => openValidators(database, designs, { programs, clock }),
    buildSoon: (name) => background.schedule(name),
    closeIndexes: async () => {
      await background.close();
      await views.close();
    },
    close: () => sandbox?.close(),
  };
}

/** For hosts that have this code at hand. The sandbox serves one core. */
export function functionsAtHand(sandbox?: Sandbox): LoadFunctions {
  return Object.assign((): CreateFunctions => (parts) => createFunctionService(parts, sandbox), { isAtHand: true });
}
