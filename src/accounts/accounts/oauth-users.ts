/** OAuth consumers and tokens that users keep in their documents, as `{oauth: {consumer_keys: {key: secret}, tokens: {token: secret}}}`. */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { allReady } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { USER_PREFIX } from '../contract.ts';
import { authenticationDatabase } from '../settings.ts';

interface Found {
  readonly name: string;
  readonly consumer: string;
  readonly token: string;
  readonly isOfDocument: true;
}

/** Reads all user documents after each change of one: few services have such documents, and those have few users. */
export class DocumentsWithOAuth {
  readonly #config: ConfigStore;
  readonly #databases: Registry;
  #version = 0;
  #read: { readonly version: number; readonly documents: Promise<readonly OAuthDocument[]> } | undefined;

  constructor(config: ConfigStore, databases: Registry) {
    this.#config = config;
    this.#databases = databases;
    databases.onEvent(({ name }) => {
      if (name === authenticationDatabase(config)) this.#version += 1;
    });
    config.onChange(({ section, key }) => {
      if (section === 'svc_httpd_auth' && key === 'authentication_db') this.#version += 1;
    });
  }

  async find(consumerKey: string, tokenKey: string): Promise<readonly Found[]> {
    if (this.#read?.version !== this.#version) {
      const documents = this.#readAll();
      documents.catch(() => {
        this.#read = undefined;
      });
      this.#read = { version: this.#version, documents };
    }
    return (await this.#read.documents).flatMap(({ name, consumers, tokens }) => {
      const consumer = ownMember(consumers, consumerKey);
      const token = ownMember(tokens, tokenKey);
      return typeof consumer === 'string' && typeof token === 'string'
        ? [{ name, consumer, token, isOfDocument: true }]
        : [];
    });
  }

  async #readAll(): Promise<readonly OAuthDocument[]> {
    const database = authenticationDatabase(this.#config);
    if (!this.#databases.has(database)) return [];
    return this.#databases.use(database, async (open) => {
      const snapshot = open.snapshot();
      const found: OAuthDocument[] = [];
      const timeSlice = new TimeSlice();
      try {
        for await (const rows of snapshot.rows({ start: USER_PREFIX, end: `${USER_PREFIX}\uffff` })) {
          const records = await allReady(rows.map((row) => row.record()));
          const bodies = await snapshot.bodies(records.flatMap(({ leaves }) => leaves.slice(0, 1)));
          for (const [index, body] of bodies.entries()) found.push(...oauthOf(rows[index]?.id ?? '', body));
          if (timeSlice.isDue) await timeSlice.rest();
        }
        return found;
      } finally {
        snapshot.release();
      }
    });
  }
}

interface OAuthDocument {
  readonly name: string;
  readonly consumers: JsonObject;
  readonly tokens: JsonObject;
}

function oauthOf(id: string, body: string | undefined): readonly OAuthDocument[] {
  if (body === undefined || !body.includes('oauth')) return [];
  const document: unknown = JSON.parse(body);
  if (!isObject(document)) return [];
  const oauth = ownMember(document, 'oauth');
  const name = ownMember(document, 'name');
  if (!isObject(oauth) || typeof name !== 'string' || id !== `${USER_PREFIX}${name}`) return [];
  const consumers = ownMember(oauth, 'consumer_keys');
  const tokens = ownMember(oauth, 'tokens');
  return isObject(consumers) && isObject(tokens) ? [{ name, consumers, tokens }] : [];
}
