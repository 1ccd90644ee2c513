import { types } from 'node:util';

const { isNativeError } = types;

/** SQLSTATE codes after which the same transaction may succeed when it is tried again. */
const RETRYABLE: Readonly<Record<string, string>> = {
  '40001': 'serialization_failure',
  '40P01': 'deadlock_detected',
  '55P03': 'lock_not_available',
  '57014': 'query_canceled',
  '53000': 'insufficient_resources',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
  '25P03': 'idle_in_transaction_session_timeout',
};

/** SQLSTATE codes, and codes of the socket beneath, that mean: the database cannot be reached. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  '08000': 'connection_exception',
  '08001': 'sqlclient_unable_to_establish_sqlconnection',
  '08003': 'connection_does_not_exist',
  '08004': 'sqlserver_rejected_establishment_of_sqlconnection',
  '08006': 'connection_failure',
  '57P01': 'admin_shutdown',
  '57P02': 'crash_shutdown',
  '57P03': 'cannot_connect_now',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'broken pipe',
  ETIMEDOUT: 'timed out',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host name not resolved',
  EHOSTUNREACH: 'host unreachable',
};

/** What pg throws without any code when a connection is lost or cannot be had in time. */
const UNREACHABLE_MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
];

export type DatabaseFault = 'retryable' | 'unreachable' | 'permanent';

/** What an error of the database room means for the one who called. */
export function databaseFault(error: unknown): DatabaseFault {
  // Not instanceof: an error of Node itself may come from another realm than this code.
  if (!isNativeError(error)) return 'permanent';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code in RETRYABLE) return 'retryable';
  if (code in UNREACHABLE) return 'unreachable';
  if ('errors' in error && Array.isArray(error.errors)) return databaseFault(error.errors[0]);
  if (UNREACHABLE_MESSAGES.some((message) => error.message.includes(message))) return 'unreachable';
  return 'permanent';
}
