import type { DecisionBody, SetAsideBody } from '../contracts/operator-api';

/** One line of a list, for people. */
export function setAsideLine(event: SetAsideBody): string {
  const order = `${event.accountId ?? '-'}/${event.clientOrderId ?? '-'}`;
  const seen = event.timesSeen > 1 ? `seen ${event.timesSeen} times` : '';
  const columns = [
    event.id,
    event.reason,
    event.setAsideAt,
    `${event.source ?? '-'} ${event.type ?? '-'} ${event.executionId ?? '-'}`,
    order,
    event.detail,
    seen,
    event.decision === null ? '' : decisionText(event.decision),
  ];
  return printable(columns.filter((column) => column !== '').join('  '));
}

function decisionText({ decision, outcome, decidedBy, decidedAt, reason }: DecisionBody): string {
  return `[${decision} by ${decidedBy} at ${decidedAt}: ${outcome}; ${reason}]`;
}

/**
 * A hostile event must not move the cursor of the terminal it is shown on: control and formatting characters are
 * escaped as JSON escapes them. Line breaks stay, since JSON's own layout has them and its strings do not.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}
