import { describe } from 'vitest'
import { describeRedis } from '../../../tests/setup/fixtures.ts'
import { boardContract } from './board.testsuite.ts'

describe('on Postgres', () => boardContract())
describeRedis('the dashboard’s board on Redis', (url) => boardContract(url))
