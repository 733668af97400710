export { keyedCallsTable, keyedSqlTool, sqlTool, type KeyedSqlToolOptions, type SqlToolOptions } from './sql-tool.ts'
