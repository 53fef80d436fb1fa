import { DatabaseError } from '../../../base/errors/database-error.ts';
import { functionTimeoutMs } from '../../../base/system/config.ts';
import type { Config, Log } from '../../../base/system/contract.ts';
import { logOfClients } from '../../../base/system/log.ts';
import { type Program, type ReduceLimit, type Sandbox, SCRIPT_LANGUAGE } from '../../sandbox/contract.ts';
import type { Mapper, MapperFactory, MapperSource } from '../contract.ts';
import type { GroupDefinition } from '../trees/definition.ts';

interface ViewFunctionsOptions {
  /** Without one functions of documents can't run. */
  readonly sandbox: Sandbox | undefined;
  /** By language, for languages that need no sandbox. */
  readonly mappers: Readonly<Record<string, MapperFactory>>;
  readonly config: Config;
  readonly log: Log;
}

/** The design document that functions are compiled from. */
export interface FunctionSource {
  readonly definition: GroupDefinition;
  /** The database's file: design documents of one database may share an engine. */
  readonly scope: string;
  /** With `_design/`. */
  readonly designId: string;
  readonly body: string;
}

/** Compiles the map and reduce functions of design documents: in the sandbox, or with the mapper of their language. */
export class ViewFunctions {
  readonly #options: ViewFunctionsOptions;

  constructor(options: ViewFunctionsOptions) {
    this.#options = options;
  }

  /** Fails with `not_implemented` if functions in this language can't be run. */
  checkLanguage(language: string): void {
    if (language === SCRIPT_LANGUAGE && this.#options.sandbox !== undefined) return;
    if (this.#mapperOf(language) !== undefined) return;
    const remedy =
      language === SCRIPT_LANGUAGE
        ? 'This host was started without a sandbox for functions of documents; with settee/msw, pass loadWasm to the handlers.'
        : `Write them in ${SCRIPT_LANGUAGE}.`;
    throw new DatabaseError('not_implemented', `Views in the language "${language}" can't be run here. ${remedy}`);
  }

  /** Looks at own members only, because the language is any text from a document. */
  #mapperOf(language: string): MapperFactory | undefined {
    const { mappers } = this.#options;
    return Object.hasOwn(mappers, language) ? mappers[language] : undefined;
  }

  async openMapper({ definition, scope, designId, body }: FunctionSource): Promise<Mapper> {
    const { signature, maps, language } = definition;
    const factory = this.#mapperOf(language);
    if (factory !== undefined) {
      const source: MapperSource = { scope, id: designId, body, signature, maps };
      return factory.open(source);
    }
    const program = await this.openProgram({ definition, scope, designId, body });
    const mapper = await program.mapper(maps.map((map) => sourceOf(map, designId)));
    return {
      get batchSize() {
        return mapper.batchSize;
      },
      get concurrency() {
        return mapper.concurrency;
      },
      map: (documents) => mapper.map(documents),
      mapLong: (document) => mapper.mapLong(document),
      release: () => undefined,
    };
  }

  async openProgram({ definition, scope, designId }: FunctionSource): Promise<Program> {
    const { sandbox, log } = this.#options;
    if (sandbox === undefined) {
      throw new DatabaseError(
        'not_implemented',
        `${designId} has functions, and this host was started without a sandbox.`,
      );
    }
    return sandbox.open({
      scope,
      signature: definition.signature,
      designId,
      designDocument: definition.libraryText,
      timeoutMs: functionTimeoutMs(this.#options.config),
      log: (message) => logOfClients(log).info(`${designId}: ${message}`),
    });
  }

  /** Returns the limits of reduce functions that are compiled now; the same text means the same limits. */
  get reduceLimits(): string {
    return `${functionTimeoutMs(this.#options.config)} ${this.reduceLimit}`;
  }

  get reduceLimit(): ReduceLimit {
    const setting = this.#options.config.get('query_server_config', 'reduce_limit');
    return setting === 'false' || setting === 'log' ? setting : 'true';
  }
}

function sourceOf(map: unknown, designId: string): string {
  if (typeof map === 'string') return map;
  throw new DatabaseError('compilation_error', `A map of ${designId} is not a string. Give the function's source.`);
}
