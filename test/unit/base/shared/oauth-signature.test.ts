import { expect, test } from 'vitest';
import { baseString, oauthSignature } from '../../../../src/base/shared/oauth-signature.ts';

/** RFC 5849, sections 1.2 and 3.4.1.1. The body's parameters are added to the query here: a replicator sends no forms. */
const example = {
  method: 'post',
  url: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b&c2=&a3=2+q',
  parameters: {
    realm: 'Example',
    oauth_consumer_key: '9djdj82h48djs9d2',
    oauth_token: 'kkk9d7dh3k39sjv7',
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: '137131201',
    oauth_nonce: '7d8f3e4a',
    oauth_signature: 'bYT5CMsGcbgUdFHObYMEfcx6bsw%3D',
  },
};

test('the base string is that of the example in RFC 5849, 3.4.1.1', () => {
  expect(baseString(example)).toBe(
    'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
  );
});

test('a signature is that of the example in RFC 5849, 1.2', async () => {
  const request = {
    method: 'GET',
    url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
    parameters: {
      oauth_consumer_key: 'dpf43f3p2l4k3l03',
      oauth_token: 'nnch734d00sl2jdk',
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: '137131202',
      oauth_nonce: 'chapoH',
    },
  };
  const secrets = { consumer: 'kd94hf93k423kf44', token: 'pfkkdhi9sl3r4s00' };
  expect(await oauthSignature('HMAC-SHA1', request, secrets)).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=');
  expect(await oauthSignature('PLAINTEXT', request, secrets)).toBe('kd94hf93k423kf44&pfkkdhi9sl3r4s00');
});
