/** The setting `replicator/allowed_hosts` (docs/http/replication.md#addresses-that-users-may-name): hosts that users who are not admins may name. */
import { type IpAddress, type IpBlock, isIn, parseBlock, parseIp } from './ip-address.ts';

interface AllowedName {
  /** In lower case. With `isSuffix` all names with this ending. */
  readonly name: string;
  readonly isSuffix: boolean;
  /** Undefined: all ports. */
  readonly port: string | undefined;
}

interface AllowedBlock {
  readonly block: IpBlock;
  readonly port: string | undefined;
}

export class AllowedHosts {
  readonly #names: AllowedName[] = [];
  readonly #blocks: AllowedBlock[] = [];
  readonly #takesAll: boolean;

  /** Skips anything that is not an entry: the configuration refuses it. */
  constructor(setting: string) {
    const entries = setting.split(/[\s,]+/).filter((entry) => entry !== '');
    this.#takesAll = entries.includes('*');
    for (const entry of entries) this.#add(entry.toLowerCase());
  }

  /** `name` in the form that URLs have. */
  hasName(name: string, port: string): boolean {
    const plain = name.replace(/\.$/, '');
    return (
      this.#takesAll ||
      this.#names.some((one) => fitsPort(one, port) && (one.isSuffix ? plain.endsWith(one.name) : plain === one.name))
    );
  }

  hasAddress(address: IpAddress, port: string): boolean {
    return this.#takesAll || this.#blocks.some((one) => fitsPort(one, port) && isIn(address, one.block));
  }

  #add(entry: string): void {
    const bare = parseBlock(entry);
    const [, host = '', port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
    const address = parseIp(host) === undefined ? undefined : parseBlock(host.replace(/^\[(.*)\]$/, '$1'));
    const block = bare ?? address;
    if (block !== undefined) this.#blocks.push({ block, port: bare === undefined ? port : undefined });
    else if (host.startsWith('*.')) this.#names.push({ name: nameOf(host.slice(2), '.'), isSuffix: true, port });
    else if (host !== '') this.#names.push({ name: nameOf(host), isSuffix: false, port });
  }
}

function fitsPort({ port }: { readonly port: string | undefined }, asked: string): boolean {
  return port === undefined || port === asked;
}

/** Names with letters of other scripts, in the form that URLs have. */
function nameOf(name: string, before = ''): string {
  const url = `http://${name}`;
  return before + (URL.canParse(url) ? new URL(url).hostname : name).replace(/\.$/, '');
}
