import { describe, expect, test, vi } from 'vitest';
import { Passwords } from '../../../src/accounts/passwords/passwords.ts';
import {
  adminText,
  hashOfAdmin,
  hashOfUser,
  isHashedAdmin,
  userMembers,
} from '../../../src/accounts/passwords/stored-password.ts';
import { systemRandom } from '../../../src/base/shared/clock.ts';
import { patient } from '../../support/patience.ts';

const config = (settings: Record<string, string> = {}) => ({
  get: (section: string, key: string) => (section === 'svc_httpd_auth' ? settings[key] : undefined),
});
const passwords = (settings: Record<string, string> = {}) => new Passwords(config(settings), systemRandom);

/** RFC 6070, whose salt is text as ours is, and an empty password: password, salt, iterations, key of 20 bytes. */
const vectors: readonly (readonly [string, string, number, string])[] = [
  ['password', 'salt', 1, '0c60c80f961f0e71f3a9b524af6012062fe037a6'],
  ['password', 'salt', 2, 'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957'],
  ['password', 'salt', 4096, '4b007901b765489abead49d926f721d065a429c1'],
  ['', 'salt', 10, '6415e3f6bacb7382fd8475ce04fa43779a2df430'],
];

const KEYS: Readonly<Record<string, string>> = {
  sha224: '6d379d43d32c77bb22bd108e210e68ebcac89a15004a3afabbac6770',
  sha256: 'ea62158eb91f4613b0ad79df1a9c80a8c89085b1025ae84bff5c7632dc903d75',
  sha384: '638baab4ef41b2e3c025ae6728cfa2e42059e7f7e788d6277e41c52d58f495bc5f3f3d6ee7c83d3f40f1acf8b290c93a',
  sha512:
    'deab1e4a601eff4454c04d0b3e9df4bb3b9374b83af254fff47ff0cf3f1feb1166fb2b85f78afc037789368267d1bc18bff7d1b8203e95ff1e1582651c1acb1b',
};

describe('stored hashes', () => {
  test('of admins are read and written in three forms', () => {
    const key = '4b007901b765489abead49d926f721d065a429c1';
    for (const text of [`-hashed-${key},salt`, `-pbkdf2-${key},salt,4096`, `-pbkdf2:sha256-${key},salt,4096`]) {
      const hash = hashOfAdmin(text);
      expect(hash && adminText(hash)).toBe(text);
      expect(isHashedAdmin(text)).toBe(true);
    }
  });

  test('of admins that are malformed are neither a password nor a hash', () => {
    for (const text of ['-pbkdf2-', '-pbkdf2-zz,salt,10', '-pbkdf2-00,salt,10', '-hashed-abc', '-pbkdf2:md5-00,a,1']) {
      expect(hashOfAdmin(text), text).toBeUndefined();
      expect(isHashedAdmin(text), text).toBe(true);
    }
    expect(isHashedAdmin('secret')).toBe(false);
    expect(hashOfAdmin('secret')).toBeUndefined();
  });

  test('of users are read and written', () => {
    const derived_key = '4b007901b765489abead49d926f721d065a429c1';
    const documents = [
      { password_scheme: 'pbkdf2', iterations: 10, derived_key, salt: 'a' },
      { password_scheme: 'pbkdf2', pbkdf2_prf: 'sha256', iterations: 10, derived_key, salt: 'a' },
      { password_scheme: 'simple', password_sha: derived_key, salt: 'a' },
    ];
    for (const document of documents) {
      const hash = hashOfUser(document);
      expect(hash && userMembers(hash)).toEqual(document);
    }
    expect(hashOfUser({ password_sha: derived_key, salt: 'a' })?.scheme).toBe('simple');
    expect(hashOfUser({ password_sha: derived_key })).toBeUndefined();
    expect(hashOfUser({ password_scheme: 'pbkdf2', iterations: 0, derived_key, salt: 'a' })).toBeUndefined();
    expect(hashOfUser({})).toBeUndefined();
  });
});

describe('a password', () => {
  test('matches the keys of RFC 6070', async () => {
    for (const [password, salt, iterations, key] of vectors) {
      const hash = { scheme: 'pbkdf2', prf: 'sha', salt, iterations, key } as const;
      expect(await passwords({ min_iterations: '1' }).matches(password, hash)).toBe(true);
      expect(await passwords({ min_iterations: '1' }).matches(`${password} `, hash)).toBe(false);
    }
  });

  test('matches a key of SHA-1 with its salt', async () => {
    // echo -n applesalt | sha1sum
    const hash = { scheme: 'simple', key: 'e21216acd080d1077e4f9894c0945eb4b023202c', salt: 'salt' } as const;
    expect(await passwords().matches('apple', hash)).toBe(true);
    expect(await passwords().matches('apples', hash)).toBe(false);
  });

  test('matches its own hash, which has the iterations of the setting', async () => {
    for (const pbkdf2_prf of ['sha', 'sha224', 'sha256', 'sha384', 'sha512']) {
      const one = passwords({ iterations: '500', pbkdf2_prf });
      const hash = await one.hash('pässwört');
      expect(hash).toMatchObject({ scheme: 'pbkdf2', prf: pbkdf2_prf, iterations: 500 });
      expect(await one.matches('pässwört', hash)).toBe(true);
      expect(await one.matches('', hash)).toBe(false);
    }
  });

  test('matches nothing if nothing is stored', async () => {
    expect(await passwords().matches('', undefined)).toBe(false);
  });

  test('matches with each hash function that servers of the family have', async () => {
    // openssl kdf -keylen 28 -kdfopt digest:SHA224 -kdfopt 'pass:correct horse' -kdfopt salt:5a7c… -kdfopt iter:1000 PBKDF2
    for (const [prf, key] of Object.entries(KEYS)) {
      const salt = '5a7cb9185b067e50824cd1a858656021';
      const hash = hashOfUser({ password_scheme: 'pbkdf2', pbkdf2_prf: prf, iterations: 1000, derived_key: key, salt });
      expect(await passwords().matches('correct horse', hash), prf).toBe(true);
      expect(await passwords().matches('correct horses', hash), prf).toBe(false);
    }
  });

  test('matches a hash of another server with few or many iterations, up to a bound', async () => {
    const hash = await passwords({ iterations: '500' }).hash('apple');
    expect(await passwords({ min_iterations: '501' }).matches('apple', hash)).toBe(true);
    expect(await passwords({ max_iterations: '499' }).matches('apple', hash)).toBe(true);
    expect(await passwords({ max_iterations: '499' }).matches('pear', hash)).toBe(false);
    const high = passwords({ max_iterations: '400', max_verified_iterations: '499' });
    expect(await high.matches('apple', hash)).toBe(false);
    // What this server makes can always be checked.
    expect(await passwords({ max_iterations: '500', max_verified_iterations: '1' }).matches('apple', hash)).toBe(true);
  });

  test('is outdated with a weaker hash than the settings permit, unless they keep all as they are', async () => {
    const hash = await passwords({ iterations: '500' }).hash('apple');
    const simple = { scheme: 'simple', key: '0'.repeat(40), salt: 'a' } as const;
    const weaker = passwords({ min_iterations: '501' });
    expect([weaker.isOutdated(hash), weaker.isOutdated(simple)]).toEqual([true, true]);
    expect(passwords({ min_iterations: '500' }).isOutdated(hash)).toBe(false);
    expect(passwords({ iterations: '10', min_iterations: '1', max_iterations: '10' }).isOutdated(hash)).toBe(false);
    const kept = passwords({ min_iterations: '501', upgrade_hash_on_auth: 'false' });
    expect([kept.isOutdated(hash), kept.isOutdated(simple)]).toEqual([false, false]);
  });

  test('with a slow hash is checked one at a time, and delays no other', async () => {
    const slow = await passwords({ iterations: '2000' }).hash('apple');
    const quick = await passwords({ iterations: '1000' }).hash('pear');
    const one = passwords({ iterations: '1000', max_iterations: '1000' });
    const derive = crypto.subtle.deriveBits.bind(crypto.subtle);
    const held: (() => void)[] = [];
    const spy = vi.spyOn(crypto.subtle, 'deriveBits').mockImplementation(async (algorithm, key, length) => {
      const isSlow = Reflect.get(Object(algorithm), 'iterations') === 2000;
      if (isSlow) await new Promise<void>((resolve) => held.push(resolve));
      return derive(algorithm, key, length);
    });
    try {
      const slowChecks = [
        one.matches('apple', slow, 'a'),
        one.matches('apple', slow, 'b'),
        one.matches('x', slow, 'c'),
      ];
      await vi.waitFor(() => expect(held).toHaveLength(1), patient);
      expect(await one.matches('pear', quick, 'd')).toBe(true);
      expect(held).toHaveLength(1);
      for (const count of [1, 2, 3]) {
        await vi.waitFor(() => expect(held).toHaveLength(count), patient);
        held[count - 1]?.();
      }
      expect(await Promise.all(slowChecks)).toEqual([true, true, false]);
    } finally {
      spy.mockRestore();
    }
  });

  test('with a slow hash waits with at most twenty others from its address', async () => {
    const slow = await passwords({ iterations: '2000' }).hash('apple');
    const one = passwords({ iterations: '1000', max_iterations: '1000' });
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => one.matches('apple', slow, 'a')));
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(results.filter((result) => result.status === 'fulfilled' && result.value).length).toBeGreaterThanOrEqual(21);
    for (const result of refused) expect(result).toMatchObject({ reason: { code: 'too_many_requests' } });
  });

  test('that is wrong takes the same iterations whatever is stored', async () => {
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    const spent = async (work: Promise<unknown>) => {
      derive.mockClear();
      expect(await work).toBe(false);
      return derive.mock.calls.reduce(
        (sum, [algorithm]) => sum + Number(Reflect.get(Object(algorithm), 'iterations')),
        0,
      );
    };
    try {
      const one = passwords({ iterations: '3000' });
      const strong = await one.hash('apple');
      const weak = await passwords({ iterations: '700' }).hash('apple');
      const simple = { scheme: 'simple', key: '0'.repeat(40), salt: 'a' } as const;
      for (const hash of [undefined, strong, weak, simple]) expect(await spent(one.matches('pear', hash))).toBe(3000);
      // Once there was one with more, all take as many.
      const strongest = await passwords({ iterations: '4000' }).hash('apple');
      for (const hash of [strongest, undefined, weak]) expect(await spent(one.matches('pear', hash))).toBe(4000);
      // One that is noted counts from the next on, and none beyond what the settings let be checked does.
      one.noteStored(await passwords({ iterations: '5000' }).hash('apple'));
      one.noteStored({ scheme: 'pbkdf2', prf: 'sha', key: '0'.repeat(40), salt: 'salt', iterations: 1_000_001 });
      for (const hash of [undefined, weak]) expect(await spent(one.matches('pear', hash))).toBe(5000);
      // Nor does a check of that one take longer, or less.
      const tooSlow = {
        scheme: 'pbkdf2',
        prf: 'sha',
        key: '0'.repeat(40),
        salt: 'salt',
        iterations: 1_000_001,
      } as const;
      expect(await spent(one.matches('pear', tooSlow))).toBe(5000);
      // With one that this server would not make, all take what it makes, and then that one.
      const slow = { ...tooSlow, iterations: 200_000 };
      for (const hash of [slow, undefined, weak, strongest, simple]) {
        expect(await spent(one.matches('pear', hash))).toBe(203_000);
      }
    } finally {
      derive.mockRestore();
    }
  });
});
