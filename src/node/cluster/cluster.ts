import { DatabaseError, messageOf } from '../../base/errors/database-error.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { Notifier } from '../../base/shared/notifier.ts';
import type { Log } from '../../base/system/contract.ts';
import type { Core } from '../../core/core.ts';
import { memberCode } from '../../core/member.ts';
import type { MemberOptions } from '../../core/sharing.ts';
import type { Placement } from '../../database/registry/contract.ts';
import { readOnlyError } from '../../storage/paging/page-errors.ts';
import type { Members } from '../../storage/postgres/members/members.ts';
import type { Member, Membership } from '../../storage/postgres/members/membership.ts';
import { FollowedSettings } from '../forwarding/followed-settings.ts';
import { createServerLinks, type ServerLinks } from '../forwarding/server-links.ts';
import { isPresentVersion } from '../forwarding/settings-version.ts';
import { TrafficCounts } from '../forwarding/traffic-counts.ts';
import { keepNoteBy, UpdateReports } from './internal-requests.ts';
import { Owners, serverName } from './owners.ts';

/** How long a request waits for the settings that another server has changed, in milliseconds. */
const SETTINGS_MS = 5_000;
/** How often it asks for them, in milliseconds: the other server may have named them before they were effective. */
const ASK_MS = 100;
/** How long a server that ends takes to leave its databases to the others, in milliseconds: a little more than requests may go on to use them. */
const WITHDRAW_MS = 3_000;

/** How long a request waits for other servers to give up a database, in milliseconds: longer than a server that has ended is still counted. */
const MAX_FREE_MS = 15_000;

/** How soon the others are told again what they could not be told, in milliseconds. */
const ADOPT_AGAIN_MS = 500;

export interface ClusterOptions {
  readonly members: Pick<Members, 'membership' | 'isMember' | 'onMembership' | 'lookNow' | 'adopt' | 'announce'>;
  /** Whether a server that takes no part owns the storage, and so all databases. */
  readonly hasOtherOwner: () => boolean;
  readonly key: string;
  readonly log: Log;
  /** How long a request waits for other servers to give up a database, in milliseconds. Default: 15,000. */
  readonly freeMs?: number | undefined;
  /** See `ServerLinksOptions`. */
  readonly headersFor: (request: PlainRequest) => Readonly<Record<string, string>>;
}

/** What this server knows of the others with which it shares a storage, and how it reaches them. */
export class Cluster {
  /** Those of the owner of the list of databases. Each service has its own: what listens to them ends with it. */
  settings = new FollowedSettings();
  readonly counts = new TrafficCounts();
  readonly #options: ClusterOptions;
  readonly #links: ServerLinks;
  readonly #reports: UpdateReports;
  readonly #onSettings = new Notifier<void>();
  readonly #onChange = new Notifier<void>();
  readonly #stop: () => void;
  #owners: Owners | undefined;
  #version = -1;
  #core: Pick<Core, 'rearrange'> | undefined;
  #arranging: Promise<void> | undefined;
  /** The version by which this server has given up what is not its own. */
  #arranged = -1;
  /** The id under which this server owns databases. Others may have owned them since it had an earlier one. */
  #seat: string | undefined;
  #again: NodeJS.Timeout | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: ClusterOptions) {
    const { members, key, log, headersFor } = options;
    this.#options = options;
    this.#links = createServerLinks({
      ...{ key, log, headersFor },
      onSettings: (sent) => {
        this.settings.receive(sent);
        this.#onSettings.notify();
      },
    });
    this.#reports = new UpdateReports((request) => this.#ownerOf(undefined)?.(request));
    this.#stop = members.onMembership((membership) => this.#take(membership));
    if (members.membership !== undefined) this.#take(members.membership);
  }

  /** What all servers of the storage know. */
  get key(): string {
    return this.#options.key;
  }

  /** Tells the core of each change from now on. */
  attach(core: Pick<Core, 'rearrange'> | undefined): void {
    this.#core = core;
  }

  /** For the owner of the list of databases; `follows`: for another one. */
  memberOptions(isCoordinator: boolean): MemberOptions {
    const settings = new FollowedSettings();
    settings.receive({ version: this.settings.version, settings: this.settings.sections() });
    this.settings = settings;
    const owner = () => this.#ownerOf(undefined);
    return {
      code: memberCode,
      placement: this.#placement,
      ownerOf: (database) => this.#ownerOf(database),
      name: () => this.#name,
      others: () => this.#others(),
      lookAgain: () => this.lookAgain(),
      follows: isCoordinator
        ? undefined
        : {
            config: settings,
            hasPresentSettings: (notes) => isPresentVersion(settings.version, notes),
            whenSettings: (areWanted) => this.whenSettings(areWanted),
            keepNote: keepNoteBy(owner),
            onUpdate: (name) => this.#reports.add(name),
          },
    };
  }

  get #name(): string {
    const { membership } = this.#options.members;
    const self = membership?.members.find(({ id }) => id === membership.self);
    return self === undefined ? 'settee@unknown' : serverName(self);
  }

  readonly #placement: Placement = {
    owns: (name) => {
      const { members, hasOtherOwner } = this.#options;
      const isSeated = members.isMember && this.#seat === members.membership?.self;
      return isSeated && !hasOtherOwner() && this.#isSelf(this.#owners?.ownerOf(name));
    },
    whenFree: (name) => this.#whenFree(name),
  };

  #isSelf(member: Member | undefined): boolean {
    return member !== undefined && this.#isSelfId(member.id);
  }

  #isSelfId(id: string): boolean {
    return id === this.#options.members.membership?.self;
  }

  #ownerOf(database: string | undefined): Handle | undefined {
    const owners = this.#owners;
    const owner = database === undefined ? owners?.coordinator : owners?.ownerOf(database);
    if (this.#isSelf(owner)) return undefined;
    const address = owner?.address;
    const send = address === undefined ? noOwner : (request: PlainRequest) => this.#links.forward(address, request);
    return (request) => this.counts.count(send(request));
  }

  #others(): { readonly name: string; readonly handle: Handle }[] {
    const { membership } = this.#options.members;
    return (membership?.members ?? []).flatMap((member) => {
      const { address } = member;
      if (address === undefined || member.id === membership?.self) return [];
      const handle: Handle = (request) => this.counts.count(this.#links.forward(address, request));
      return [{ name: serverName(member), handle }];
    });
  }

  /** The number of servers that own databases. */
  get size(): number {
    return this.#options.members.membership?.members.length ?? 0;
  }

  /** How many of the others are connected. */
  get connected(): number {
    const { membership } = this.#options.members;
    const others = (membership?.members ?? []).filter(({ id }) => id !== membership?.self);
    return others.filter(({ address }) => address !== undefined && this.#links.isConnected(address)).length;
  }

  /** Whether this server may answer for the databases that it owns. */
  get isMember(): boolean {
    return this.#options.members.isMember;
  }

  /** See `ClusterOptions`. */
  get hasOtherOwner(): boolean {
    return this.#options.hasOtherOwner();
  }

  async lookAgain(): Promise<void> {
    await this.#options.members.lookNow();
    await this.#arranging;
  }

  /** All living members have given up what is not their own. One may take for ever, although it renews its row. */
  async #whenFree(name: string): Promise<void> {
    const deadline = performance.now() + (this.#options.freeMs ?? MAX_FREE_MS);
    for (;;) {
      if (!this.#placement.owns(name)) throw readOnlyError(name);
      const { membership } = this.#options.members;
      if (membership?.members.every(({ adopted }) => adopted >= membership.version) === true) return;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw notGivenUp(name);
      await this.#nextChange(leftMs);
    }
  }

  #nextChange(longestMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        stop();
        resolve();
      };
      const timer = setTimeout(end, longestMs).unref();
      const stop = this.#onChange.listen(end);
    });
  }

  #take(membership: Membership): void {
    if (membership.version !== this.#version) {
      this.#version = membership.version;
      this.#owners = new Owners(membership);
    }
    const { coordinator } = this.#owners ?? {};
    const others = membership.members.filter(({ id }) => id !== membership.self);
    this.#links.retain(others.flatMap(({ address }) => address ?? []));
    this.#links.followSettings(this.#isSelf(coordinator) ? undefined : coordinator?.address);
    this.#beginArranging();
    this.#onChange.notify();
  }

  #beginArranging(): void {
    clearTimeout(this.#again);
    if (this.#isClosed) return;
    this.#arranging ??= this.#arrange().finally(() => {
      this.#arranging = undefined;
      if (!this.#isArranged) this.#beginArranging();
    });
  }

  /** Whether this server has given up what is not its own by what it knows now. */
  get #isArranged(): boolean {
    return this.#arranged === this.#version && this.#seat === this.#options.members.membership?.self;
  }

  /** Gives up what is not this server's own any more, then says so. */
  async #arrange(): Promise<void> {
    const { members, log } = this.#options;
    const version = this.#version;
    const id = members.membership?.self;
    if (!this.#isArranged) {
      // Until it is seated again, nothing is its own.
      const isSeated = this.#seat === id;
      await this.#core?.rearrange();
      this.#seat = id;
      // Nor was it for what waits for changes.
      if (!isSeated) await this.#core?.rearrange();
      this.counts.moves += 1;
      this.#arranged = version;
    }
    const self = members.membership?.members.find((member) => member.id === id);
    if (self === undefined || self.adopted >= version) return;
    try {
      await members.adopt(version);
    } catch (error) {
      log.debug(`the other servers were not told: ${messageOf(error)}`);
      // They wait for it, and no change of the members may follow.
      if (!this.#isClosed) this.#again = setTimeout(() => this.#beginArranging(), ADOPT_AGAIN_MS);
    }
  }

  /** Leaves the databases to the others, if there are any: resolves when they may open them, or after some seconds. */
  async withdraw(): Promise<void> {
    const { members, log } = this.#options;
    const others = members.membership?.members.filter(
      ({ id, address }) => !this.#isSelfId(id) && address !== undefined,
    );
    if (others === undefined || others.length === 0) return;
    const withdrawn = members.announce(undefined).then(() => this.#arranging);
    const failed = (error: unknown) => log.debug(`the other servers were not told of the end: ${messageOf(error)}`);
    await Promise.race([withdrawn.catch(failed), new Promise((resolve) => setTimeout(resolve, WITHDRAW_MS).unref())]);
  }

  /** Asks for the settings until these are the ones that are wanted, or some seconds have passed. */
  async whenSettings(areWanted: () => boolean): Promise<void> {
    const deadline = performance.now() + SETTINGS_MS;
    while (!areWanted() && performance.now() < deadline) {
      this.#askForSettings();
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          stop();
          resolve();
        };
        const timer = setTimeout(end, ASK_MS);
        const stop = this.#onSettings.listen(() => areWanted() && end());
      });
    }
  }

  /** Once for all that wait. */
  #askForSettings(): void {
    if (performance.now() - this.#askedAt < ASK_MS / 2) return;
    this.#askedAt = performance.now();
    this.#links.askForSettings();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#again);
    this.#stop();
    this.#reports.close();
    this.#links.close();
  }
}

function notGivenUp(name: string): DatabaseError {
  const reason = `The servers have not yet given up the database ${name}, which this one is to own. Nothing was processed. Send the request again in a moment; if that does not help, restart the servers one after another.`;
  return new DatabaseError('storage_blocked', reason);
}

function noOwner(): PlainResponse {
  const { reason } = new DatabaseError(
    'not_owner',
    'No server owns this at the moment; another one is about to take over. The request was not processed. Send it again in a moment.',
  );
  return {
    status: 503,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1' },
    errorCode: 'not_owner',
    body: `${JSON.stringify({ error: 'service_unavailable', reason })}\n`,
  };
}
