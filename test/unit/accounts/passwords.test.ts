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
    for (const pbkdf2_prf of ['sha', 'sha256', 'sha512']) {
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

  test('is refused if its hash has too few iterations, and never matches one with too many', async () => {
    const hash = await passwords({ iterations: '500' }).hash('apple');
    const low = passwords({ min_iterations: '501' });
    await expect(low.matches('apple', hash)).rejects.toThrow('Iteration count is too low for this server');
    // Nobody else learns it.
    expect(await low.matches('pear', hash)).toBe(false);
    const high = passwords({ max_iterations: '499' });
    expect(await high.matches('apple', hash)).toBe(false);
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
      // One that is noted counts from the next on, and none beyond what the settings permit does.
      one.noteStored(await passwords({ iterations: '5000' }).hash('apple'));
      one.noteStored({ scheme: 'pbkdf2', prf: 'sha', key: '0'.repeat(40), salt: 'salt', iterations: 100_001 });
      for (const hash of [undefined, weak]) expect(await spent(one.matches('pear', hash))).toBe(5000);
      // Nor does a check of that one take longer, or less.
      const tooSlow = { scheme: 'pbkdf2', prf: 'sha', key: '0'.repeat(40), salt: 'salt', iterations: 100_001 } as const;
      expect(await spent(one.matches('pear', tooSlow))).toBe(5000);
    } finally {
      derive.mockRestore();
    }
  });
});
