/**
 * Timestamps of other parties, as text: RFC 3339 with up to nine fractional digits. JavaScript's `Date` keeps
 * milliseconds only, and two fills a microsecond apart must not become one instant.
 */
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

const MINUTE_MS = 60_000;
const FIRST_INSTANT_MS = Date.UTC(1970, 0, 1);
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * The one text of an instant: UTC, `Z`, no trailing zeros in the fraction. Two texts of one instant give the same.
 * Undefined when the text is not a timestamp, names a day that does not exist, or lies outside the years 1970–9999.
 */
export function canonicalTimestamp(text: string): string | undefined {
  if (PLAIN_UTC.test(text)) return withoutTrailingZeros(text);
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match;
  const localMs = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  const local = new Date(localMs).toISOString().slice(0, 19);
  if (local !== text.slice(0, 19)) return undefined; // 31 February, hour 24, a leap second: rolled over
  const offsetMs = zoneOffsetMs(zone);
  if (offsetMs === undefined) return undefined;
  const utcMs = localMs - offsetMs;
  if (utcMs < FIRST_INSTANT_MS || utcMs > LAST_INSTANT_MS) return undefined;
  const whole = new Date(utcMs).toISOString().slice(0, 19);
  return withoutTrailingZeros(fraction === '' ? `${whole}Z` : `${whole}.${fraction}Z`);
}

/** UTC, on a day that every month has: most texts that come are told to be instants without taking them apart. */
const PLAIN_UTC =
  /^(?:19[7-9]|[2-9]\d\d)\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

function withoutTrailingZeros(utc: string): string {
  return utc.includes('.') && utc.endsWith('0Z') ? utc.replace(/\.?0+Z$/, 'Z') : utc;
}

function zoneOffsetMs(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}
