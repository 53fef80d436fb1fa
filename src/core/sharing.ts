/** How a service shares its databases with other processes, if it does. */
import type { Access } from '../accounts/access/access.ts';
import type { Handle } from '../base/shared/message.ts';
import type { ConfigStore } from '../base/system/contract.ts';
import type { Placement, Registry, RegistryOptions } from '../database/registry/contract.ts';
import { openRegistry } from '../database/registry/registry.ts';
import type { Services } from '../http/request/context.ts';
import type { Sharing } from '../http/request/sharing.ts';
import type { memberCode } from './member.ts';
import type { readerCode } from './reader.ts';

export interface SharingOptions {
  /**
   * If given, another process owns the storage, which must support `follow`: this service only reads the databases beside it, and sends it all
   * requests that it can't answer itself (docs/internals.md#several-processes).
   */
  readonly reader?: ReaderOptions | undefined;
  /**
   * If given, this service owns some of the databases of a storage that supports `follow`, reads the others beside their owners, and sends those the
   * requests that it can't answer itself (docs/internals.md#several-servers).
   */
  readonly member?: MemberOptions | undefined;
}

export interface ReaderOptions {
  /** Sends a request to the owner. */
  readonly forward: Handle;
  /** The owner's settings. */
  readonly config: ConfigStore;
  /** Whether `config` is what the owner has now, as its texts with the list of databases say (`Registry.notes`). Default: always. */
  readonly hasPresentSettings?: ((notes: ReadonlyMap<string, string>) => boolean) | undefined;
  /** The code of readers (`core/reader.ts`): other hosts don't load it. */
  readonly code: typeof readerCode;
}

type MemberHost = Parameters<typeof memberCode.answerAsMember>[2];

export interface MemberOptions extends Pick<MemberHost, 'lookAgain'>, Sharing {
  readonly placement: Placement;
  /** What a server needs that does not own the list of databases. */
  readonly follows?: FollowsList | undefined;
  /** The code of members (`core/member.ts`): other hosts don't load it. */
  readonly code: typeof memberCode;
}

export interface FollowsList extends Pick<MemberHost, 'hasPresentSettings' | 'whenSettings'> {
  /** The settings of the owner of the list. */
  readonly config: ConfigStore;
  /** Has the owner of the list keep a text (`Registry.keepNote`). */
  readonly keepNote: Registry['keepNote'];
  /** Called after each change of documents of a database that this service owns. */
  readonly onUpdate?: ((name: string) => void) | undefined;
}

/** Opens the databases, or those of another process. `access`: who depends on their rights; called later. */
export async function openDatabases(
  { reader, member }: SharingOptions,
  options: RegistryOptions,
  access: () => Access,
): Promise<Registry> {
  if (reader !== undefined) return reader.code.openDatabases(options, access);
  return member === undefined ? openRegistry(options) : member.code.openDatabases(member, options, access);
}

/** Answers requests with what the service can answer itself, and sends the others on. */
export function createHandleOf({ reader, member }: SharingOptions, services: Services, answer: Handle): Handle {
  if (reader !== undefined) return reader.code.answerAsReader(services, answer, reader);
  return member?.code.answerAsMember(services, answer, { ...member, ...member.follows }) ?? answer;
}
