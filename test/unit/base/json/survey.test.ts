import { expect, test } from 'vitest';
import { surveyInSteps, TooLongString, TooManyMembers } from '../../../../src/base/json/survey.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';

test.each([
  ['{}', 1, 0, 0],
  ['[{},[],"a",1]', 3, 0, 3],
  ['{"a":{"b":[1,2]},"c":"x,y:{["}', 3, 3, 2],
  ['{"a\\":\\\\":"\\"{[,:"}', 1, 1, 0],
  ['"{[', 0, 0, 0],
  ['}}]]{', 1, 0, 0],
])('%s', (text, containers, members, further) => {
  expect(atOnce(surveyInSteps(text))).toEqual({ containers, members, further });
});

test('a value that is nested too deeply is refused', () => {
  expect(() => atOnce(surveyInSteps('['.repeat(1_001)))).toThrow(
    'bad_request: The JSON has arrays and objects in more than 1000 levels',
  );
});

test('an object with more members than permitted is refused, wherever it is', () => {
  expect(atOnce(surveyInSteps('[{"a":1,"b":{"c":1,"d":2}},{"e":1,"f":2}]', { members: 2 })).members).toBe(6);
  expect(() => atOnce(surveyInSteps('[{"a":{"x":1},"b":2,"c":3}]', { members: 2 }))).toThrow(TooManyMembers);
});

test('a string with more characters than permitted is refused', () => {
  expect(atOnce(surveyInSteps('["abc",{"de":1}]', { stringLength: 4 })).containers).toBe(2);
  for (const text of ['["abcd"]', '{"abcd":1}', '["abcdef']) {
    expect(() => atOnce(surveyInSteps(text, { stringLength: 4 })), text).toThrow(TooLongString);
  }
});

test('other work has turns during a survey', () => {
  let steps = 0;
  for (const _ of surveyInSteps('[],'.repeat(200_000))) steps++;
  expect(steps).toBe(4);
});
